"""A grid of one's own cells on the engines: a function, its axes, and nothing else to write."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from orledger.errors import UsageError
from orledger.runners.cells import Cell, Job
from orledger.runners.driver import RunFacts, Summary, run_plan
from orledger.runners.engines import Resources, available_cpus, engine
from orledger.runners.host import git_commit, host_facts, versions
from orledger.runners.progress import Silent, reporter
from orledger.runners.records import CellResult
from orledger.schema.accepted import check_keys
from orledger.schema.hashing import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Answer = Mapping[str, Mapping[str, float] | str]


@dataclass(frozen=True)
class Settled:
    """What a worker needs: the function and the settings that all cells share; it travels to the workers."""

    function: Callable[..., Answer]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, job: Job) -> Iterator[tuple[Cell, CellResult]]:
        """The result of every cell of the job."""
        for cell in job.cells:
            began = perf_counter()
            result = CellResult()
            for arm, answer in self.function(**cell.keys, **self.settings).items():
                if isinstance(answer, str):
                    result.refuse(arm, answer)
                    continue
                for metric, value in answer.items():
                    result.scalar(arm, metric, value)
            result.seconds = perf_counter() - began
            yield cell, result


def run_grid(
    name: str,
    function: Callable[..., Answer],
    axes: Mapping[str, Sequence[Any]],
    *,
    db: str | Path = "results.duckdb",
    block: str = "main",
    settings: Mapping[str, Any] | None = None,
    engine_name: str = "serial",
    jobs: int | None = None,
    retry: Sequence[str] = (),
    progress: bool = True,
) -> Summary:
    """Runs ``function(**keys, **settings)`` for every combination of ``axes`` that the database does not hold yet.

    The function returns ``{arm: {metric: value}}``; a text in place of the metrics says why an arm has no result. What it
    raises makes its cell failed, with the traceback, and the others go on. For the engines ``processes`` and ``ray`` it
    must be importable: defined in a module, not in a notebook. ``settings`` are part of what names a cell: changed
    settings are other cells.

    Called again, it computes what is missing. Cells that failed or refused stay as they are, unless ``retry`` names their state:
    ``retry=["failed"]``. What is returned counts them again: ``failed`` and ``refused`` are the cells of the grid that are so now,
    ``failed_before`` and ``refused_before`` those of them from earlier calls, and ``done`` is what this call computed.
    Ctrl-C does not raise: the call returns with what was done, and ``state`` of the summary is ``interrupted``.
    """
    check_keys(axes)
    if not axes or not all(len(values) for values in axes.values()):
        raise UsageError("a grid needs axes with values", hint="such as axes={'dataset': ['iris'], 'seed': range(5)}")
    shared = dict(settings or {})
    clash = sorted(set(shared) & set(axes))
    if clash:
        raise UsageError(f"{clash[0]!r} is an axis and a setting", hint="leave one of them out")
    points = product(*([plain(v) for v in values] for values in axes.values()))
    cells = [Cell(name, block, dict(zip(axes, point, strict=True)), shared) for point in points]
    workers = 1 if engine_name == "serial" else jobs or available_cpus()
    facts = RunFacts(
        preset=f"{name} (grid)",
        settings={"axes": {k: [str(v) for v in values] for k, values in axes.items()}, **shared},
        versions=versions(),
        host=host_facts(with_torch=False),
        git_commit=git_commit(),
        engine=engine_name,
    )
    summary = run_plan(
        [Job((cell,)) for cell in cells],
        Path(db),
        engine(engine_name),
        Settled(function, shared),
        facts,
        resources=Resources(workers=workers),
        retry=retry,
        reporter=reporter() if progress else Silent(),
    )
    return replace(
        summary,
        failed=summary.failed + summary.failed_before,
        refused=summary.refused + summary.refused_before,
    )
