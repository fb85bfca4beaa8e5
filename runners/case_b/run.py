"""Case B's cells, computed: ``run`` takes the cells of one job and yields each with its result.

The gate comes first: a dataset that is absent or fails its audit refuses every cell of the job, with the reason.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from orledger.audit.datasets.gate import DatasetAudit, Rules, audit_table
from orledger.errors import DataError
from orledger.runners.case_b.ablation import ablation_cell
from orledger.runners.case_b.gap import gap_cell, make_task
from orledger.runners.case_b.main import main_cell
from orledger.runners.case_b.nets import ROLES, train_nets
from orledger.runners.case_b.peers import peers_cell
from orledger.runners.case_b.problem import load_table, make_problem
from orledger.runners.case_b.rules import dataset_rules
from orledger.runners.records import CellResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from orledger.runners.case_b.data import DataTable
    from orledger.runners.case_b.nets import Fitted
    from orledger.runners.case_b.problem import SplitRows
    from orledger.runners.cells import Cell, Context


def run(cells: tuple[Cell, ...], context: Context) -> Iterator[tuple[Cell, CellResult]]:
    """Each cell of a job with its result; the job's cells share a block and, where they have one, a dataset."""
    block, settings = cells[0].block, cells[0].settings
    started = time.perf_counter()
    if block == "gap":
        yield from _gap(cells, settings, context, started)
        return
    dataset = str(cells[0].keys["dataset"])
    try:
        table = load_table(dataset, settings, context)
        protocols = ("file_order", "shuffled") if block == "audit" else ("file_order",)
        found = _audit(table, dataset_rules(settings), protocols)
    except DataError as error:
        for cell in cells:
            yield cell, CellResult(state="refused", reason=str(error))
        return
    if block == "audit":
        for cell in cells:
            yield cell, _finish(audit_cell(table, found), cell, table, "cpu/float64", time.perf_counter() - started)
        return
    if not found.passed:
        reason = f"dataset {dataset} failed its audit: {'; '.join(found.problems)}"
        for cell in cells:
            yield cell, CellResult(state="refused", reason=reason, datasets=[table.description()])
        return
    if block == "peers":
        for cell in cells:
            result = peers_cell(_problem(cell, table, settings), settings)
            yield cell, _finish(result, cell, table, "cpu/float64", time.perf_counter() - started)
        return
    yield from _trained(cells, settings, context, table, found, started)


def _problem(cell: Cell, table: DataTable, settings: Mapping[str, Any]) -> SplitRows:
    """The split rows of a cell; the ablation's are the shift's."""
    keys = cell.keys
    return make_problem(table, str(keys.get("regime", "shift")), int(keys["seed"]), float(keys["rel"]), settings)


def _trained(
    cells: tuple[Cell, ...],
    settings: Mapping[str, Any],
    context: Context,
    table: DataTable,
    found: DatasetAudit,
    started: float,
) -> Iterator[tuple[Cell, CellResult]]:
    """Main or ablation cells of one dataset: all nets trained together, then one result per cell."""
    main = cells[0].block == "main"
    problems = [_problem(c, table, settings) for c in cells]
    nets = train_nets(problems, ROLES if main else ("fit",), settings, context.device)
    shared = (time.perf_counter() - started) / len(cells)
    for cell, problem, fitted in zip(cells, problems, nets, strict=True):
        began = time.perf_counter()
        result = (main_cell if main else ablation_cell)(problem, fitted, settings)
        result.scalar("cell", "r2", found.r2["file_order"])
        _record_stopping(result, fitted)
        seconds = shared + time.perf_counter() - began
        yield cell, _finish(result, cell, table, f"{context.device}/{settings['precision']}", seconds)


def _gap(
    cells: tuple[Cell, ...], settings: Mapping[str, Any], context: Context, started: float
) -> Iterator[tuple[Cell, CellResult]]:
    seeds = list(dict.fromkeys(int(c.keys["seed"]) for c in cells))
    tasks = {seed: make_task(seed, settings) for seed in seeds}
    trained = train_nets([tasks[s].problem for s in seeds], ("dak", "fit"), settings, context.device)
    nets = dict(zip(seeds, trained, strict=True))
    shared = (time.perf_counter() - started) / len(cells)
    for cell in cells:
        began, seed = time.perf_counter(), int(cell.keys["seed"])
        result = gap_cell(tasks[seed], nets[seed], str(cell.keys["scale"]), settings)
        _record_stopping(result, nets[seed])
        result.backend = f"{context.device}/{settings['precision']}"
        result.seconds = shared + time.perf_counter() - began
        yield cell, result


def _record_stopping(result: CellResult, nets: Mapping[str, Fitted]) -> None:
    """Which epoch validation kept, net by net; nothing without a stopping rule."""
    for role, fitted in nets.items():
        if fitted.kept is not None:
            result.scalar("net", "epoch_kept", fitted.kept.epoch, label=role)
            result.scalar("net", "epochs", fitted.kept.epochs, label=role)
            result.scalar("net", "validation_score", fitted.kept.score, label=role)


def audit_cell(table: DataTable, found: DatasetAudit) -> CellResult:
    """The records of an audit cell; a failing dataset is a finding here, and a refusal for the cells that need it."""
    out = CellResult()
    for name in ("n", "d", "distinct", "passed"):
        out.scalar("rf", name, getattr(found, name))
    for protocol, value in found.r2.items():
        out.scalar("rf", "r2", value, label=protocol)
    out.fact("verdict", "passed" if found.passed else "; ".join(found.problems))
    out.fact("target", table.target)
    return out


# Ten jobs may ask about the same table; the forest is a pure function of it, so one answer per process is enough.
_answers: dict[tuple[str, Rules], DatasetAudit] = {}


def _audit(table: DataTable, rules: Rules, protocols: tuple[str, ...]) -> DatasetAudit:
    key = (table.sha256, rules)
    known = _answers.get(key)
    if known is None or (known.r2 and not set(protocols) <= set(known.r2)):
        _answers[key] = audit_table(table.X, table.y, rules, protocols)
    return _answers[key]


def _finish(result: CellResult, cell: Cell, table: DataTable, backend: str, seconds: float) -> CellResult:
    result.backend, result.seconds = backend, seconds
    result.datasets.append(table.description())
    result.fact("batch", str(cell.settings.get("batch", "none")))
    return result
