"""What the pages share: the copy of the database, the limits of queries, the templates, and what was built from the copy."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.responses import HTMLResponse

from orledger import __version__
from orledger.explorer.asking import Asking
from orledger.explorer.keeping import Kept
from orledger.explorer.mirror import Mirror
from orledger.schema.sandbox import Limits
from orledger.wording import visible

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl
    from jinja2 import Environment
    from starlette.requests import Request

    from orledger.explorer.mirror import Copied

SECONDS = 10.0
AT_ONCE = 2  # queries of users that run at the same time
PATIENCE = 60.0  # seconds that a query of a user waits for its turn


@dataclass
class Explorer:
    """The database at ``path``, one to compare it with, and who may see it."""

    path: Path
    other: Path | None = None
    token: str | None = None
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    limits: Limits = field(default_factory=lambda: Limits.from_environment().lowered(seconds=SECONDS))

    def __post_init__(self) -> None:
        self.mirror = Mirror(self.path, self.limits)
        self.second = Mirror(self.other, self.limits) if self.other is not None else None
        self.users, self.stored = Asking(AT_ONCE, PATIENCE), Asking(1, PATIENCE)
        self.comparisons: Kept[dict[str, Any]] = Kept(1)
        self._once = threading.Lock()

    def close(self) -> None:
        """Ends the processes of queries, and removes the copies."""
        self.users.close()
        self.stored.close()
        for mirror in (self.mirror, self.second):
            if mirror is not None:
                mirror.close()

    @property
    def env(self) -> Environment:
        """The templates, read when the first page is asked for: what they stand on takes longer to load than to listen."""
        with self._once:
            return self._env

    @cached_property
    def _env(self) -> Environment:
        from orledger.reports.report.templating import environment

        env = environment()
        env.auto_reload = False  # templates do not change while the server runs: no look at the files for each page
        env.filters |= {
            "duration": duration,
            "pace": pace,
            "data": lambda value: Markup(json.dumps(value).replace("<", "\\u003c")),  # noqa: S704 - JSON without a tag
        }
        return env

    def page(
        self, template: str, request: Request, results: Copied | None = None, /, *, status: int = 200, **context: Any
    ) -> HTMLResponse:
        """The template with what every page shows; ``results`` says when they are those of a snapshot, or newer than the audit."""
        from orledger.reports.notices import outdated

        text = self.env.get_template(template).render(
            version=__version__,
            database=self.path.name,
            here=request.url.path,
            comparing=self.other is not None,
            note=None if results is None else results.note,
            outdated="" if results is None else results.remember(("outdated",), lambda: outdated(results)),
            mark=None if results is None else results.mark,
            taken=None if results is None else results.taken,
            **context,
        )
        return HTMLResponse(visible(text), status)

    def found(
        self,
        template: str,
        request: Request,
        results: Copied,
        context: dict[str, Any] | None,
        message: str,
        hint: str | None = None,
    ) -> HTMLResponse:
        """The page of what was found, or the one that says that it is not there."""
        if context is None:
            return self.missing(request, message, hint)
        return self.page(template, request, results, **context)

    def missing(self, request: Request, message: str, hint: str | None = None) -> HTMLResponse:
        """The page that says what is not there."""
        return self.problem(request, 404, message, hint)

    def problem(self, request: Request, status: int, message: str, hint: str | None = None) -> HTMLResponse:
        """The page that says what is wrong; one that will be answered in a moment asks again by itself."""
        heading = {404: "Not here", 503: "Not yet"}.get(status, "This did not work")
        said = {"heading": heading, "message": message, "hint": hint, "waiting": status == 503}
        return self.page("explorer_problem.html.j2", request, status=status, **said)

    def ask(self, results: Copied, query: str, take: str | int = "frame") -> Any:
        """What is taken of the rows of a user's query, asked under the limits in a process that can be ended."""
        return self.users.ask(results.file, query, self.limits, take)

    def ask_stored(self, results: Copied, query: str) -> pl.DataFrame:
        """The rows of a query that stands in the database; it does not wait for users, who may be slow."""
        found: pl.DataFrame = self.stored.ask(results.file, query, self.limits, "frame")
        return found


def duration(seconds: float | None) -> str:
    """A time span for people."""
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def pace(rate: float) -> str:
    """Cells a second, a minute or an hour, whichever has a number that people can read."""
    unit, seconds = next(((u, s) for u, s in (("a second", 1), ("a minute", 60)) if rate * s >= 1), ("an hour", 3600))
    return f"{rate * seconds:.3g} cells {unit}"
