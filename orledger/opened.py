"""A results database as a person at a prompt or in a notebook holds it: records, audit, tables, figures and report."""

from __future__ import annotations

import html
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orledger.errors import UsageError
from orledger.files import require_file
from orledger.schema.reading import Results, open_results
from orledger.wording import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl

    from orledger.audit.evaluation.auditing import Audit
    from orledger.reports.figures.figure import Drawn
    from orledger.reports.tables.table import Table
    from orledger.schema.describing import TableInfo as StoredTable

CONTENTS = """
SELECT c.case_name AS study, c.block, count(DISTINCT c.cell_id) AS cells, count(DISTINCT r.arm) AS arms,
       string_agg(DISTINCT r.metric, ', ' ORDER BY r.metric) AS metrics, count(r.value) AS records
FROM cell c LEFT JOIN record r USING (cell_id) GROUP BY ALL ORDER BY ALL"""


class Opened(Results):
    """A results database, read-only; ``audit`` alone writes, and only the rows of an audit.

    ``reasons`` says how a frame was understood by ``orledger.study_from``, or what ``ask`` asked and why.
    """

    reasons: tuple[str, ...] = ()

    def records(
        self, *, case: str | None = None, block: str | None = None, arm: str | None = None, metric: str | None = None
    ) -> pl.DataFrame:
        """Records of finished cells; a name that the database does not have is an error with a suggestion."""
        queries = {
            "case": (case, "SELECT DISTINCT case_name FROM cell"),
            "block": (block, "SELECT DISTINCT block FROM cell"),
            "arm": (arm, "SELECT DISTINCT arm FROM record UNION SELECT DISTINCT arm FROM refusal"),
            "metric": (metric, "SELECT DISTINCT metric FROM record UNION SELECT DISTINCT metric FROM metric"),
        }
        for kind, (name, query) in queries.items():
            if name is not None:
                self._require(kind, name, query)
        return super().records(case=case, block=block, arm=arm, metric=metric)

    def contents(self) -> pl.DataFrame:
        """What is inside: studies and blocks with their cells, arms, metrics and records."""
        return self.sql(CONTENTS)

    def audit(self, hypotheses: Iterable[str | Path] = (), *, amend: bool = False) -> Audit:
        """The audit of the current registrations, stored; ``hypotheses`` are files to register first.

        The file is let go of meanwhile and opened again, since whoever writes must be alone.
        """
        from orledger.audit.evaluation.auditing import audit
        from orledger.audit.registry.reading import read_hypothesis

        read = [read_hypothesis(Path(h)) for h in hypotheses]
        with self._let_go():
            return audit(self.path, read, amend=amend)

    def ask(
        self,
        study: str | None = None,
        *,
        metric: str | None = None,
        better: str | None = None,
        unit: Sequence[str] = (),
        scale: str | None = None,
        control: str | None = None,
        best: bool = False,
        amend: bool = False,
    ) -> Audit:
        """The audit of questions that fit a study in this database, such as a loop logged; ``reasons`` says why these are asked.

        The arguments are the options of ``orledger study``: all pairs of arms are compared, or all with ``control``, or the
        best with the rest. Questions of one's own are files: ``audit([file])``.
        """
        from orledger.audit.evaluation.auditing import audit
        from orledger.audit.importing.inference import Wishes
        from orledger.audit.importing.stored import ask_stored
        from orledger.audit.registry.reading import parse_hypothesis

        if best and control is not None:
            raise UsageError("best and control contradict each other", hint="leave one of them out")
        wishes = Wishes(study, metrics=(metric,) if metric else (), better=better, unit=tuple(unit), scale=scale)
        compare = "best" if best else "pairs" if control is None else "control"
        guess, asked = ask_stored(self, wishes, compare=compare, control=control)
        self.reasons = (*guess.reasons, *asked.reasons)
        hypothesis = parse_hypothesis(asked.text, f"{guess.mapping.study}.hypotheses.toml")
        with self._let_go():
            return audit(self.path, [hypothesis], amend=amend)

    @contextmanager
    def _let_go(self) -> Iterator[None]:
        """While inside, the file is closed here, since whoever writes must be alone."""
        self.con.close()
        try:
            yield
        finally:
            self.con = open_results(self.path).con

    def schema(self) -> list[StoredTable]:
        """Every table and view of the database with its columns and comments."""
        return super().tables()

    def tables(self, names: Iterable[str] | None = None) -> list[Table]:  # type: ignore[override]
        """The tables of the studies that are here, or those called ``names``."""
        from orledger.reports.tables.building import build_tables

        return build_tables(self, names=names)

    def figures(self, names: Sequence[str] = ()) -> Iterator[Drawn]:
        """The figures of the studies that are here, or those called ``names``; ``figure`` of each is matplotlib's."""
        from orledger.reports.figures.drawing import draw

        return draw(self, names)

    def report(self, path: str | Path, *, title: str | None = None) -> Path:
        """The report as one HTML file at ``path``; it says first whether the database was changed without orledger."""
        from orledger.reports.notices import changed
        from orledger.reports.report.contents import Contents
        from orledger.reports.report.document import render_report

        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        contents = Contents(self, changed=changed(self))
        require_file(target)
        target.write_text(render_report(self, title=title, contents=contents), encoding="utf-8")
        contents.close()
        return target

    def __repr__(self) -> str:
        head = f"orledger database {self.path}" + (f" ({self.note})" if self.note else "")
        lines = [
            f"  {row['study']}/{row['block']}: {row['cells']:,} cells, {row['arms']} arms, {row['records']:,} records"
            f" ({row['metrics'] or 'nothing measured'})"
            for row in self.contents().iter_rows(named=True)
        ]
        return "\n".join([head, *(lines or ["  empty"])])

    def _repr_html_(self) -> str:
        """What is inside as a table, for notebooks."""
        frame = self.contents()
        head = "".join(f"<th>{html.escape(c)}</th>" for c in frame.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape('' if v is None else str(v))}</td>" for v in row) + "</tr>"
            for row in frame.iter_rows()
        )
        name = html.escape(str(self.path))
        return visible(f"<table><caption>{name}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")

    def _require(self, kind: str, name: str, query: str) -> None:
        known = sorted(self.sql(query).to_series().to_list())
        if name not in known:
            near = get_close_matches(name, known, 1)
            listed = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
            raise UsageError(
                f"no {kind} {name!r} in {self.path}",
                hint=(f"did you mean {near[0]!r}? " if near else "") + f"there are: {listed or 'none'}",
            )


def open_database(path: str | Path, **options: Any) -> Opened:
    """The database at ``path``; ``options`` are those of ``open_results``."""
    found = open_results(path, **options)
    return Opened(found.path, found.con, found.note)
