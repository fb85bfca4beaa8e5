"""The web application: one function per page, all of them reading, and the rules that every answer obeys."""

from __future__ import annotations

import hmac
import io
import json
import secrets
import threading
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from orledger import __version__, studies
from orledger.errors import OrledgerError
from orledger.explorer import cells, metrics, overview
from orledger.explorer.mirror import Mirror
from orledger.reports.figures import drawing
from orledger.reports.figures.style import METADATA, house_style
from orledger.reports.report.compare import FRAMES, compare
from orledger.reports.report.document import TONES, moment, number, pretty_json, slug, table_view
from orledger.reports.tables import building
from orledger.schema.describing import tables as described
from orledger.schema.sandbox import Limits, run_query

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    import polars as pl
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from orledger.schema.reading import Results

SHOWN = 500  # rows of a query that the page shows; the downloads have all
AT_ONCE = 2  # queries of users that may run at the same time
SECONDS = 10.0
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


@dataclass
class Explorer:
    """What the pages share: the copy of the database, a second one to compare with, and the limits."""

    path: Path
    other: Path | None = None
    token: str | None = None
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")
    limits: Limits = field(default_factory=lambda: Limits.from_environment().lowered(seconds=SECONDS))

    def __post_init__(self) -> None:
        self.mirror = Mirror(self.path, self.limits)
        self.slots = threading.BoundedSemaphore(AT_ONCE)
        self.env = Environment(
            loader=PackageLoader("orledger.templates", ""), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        self.env.filters |= {
            "cell": number,
            "short": lambda v: "" if v is None else f"{v:.3g}",
            "moment": moment,
            "slug": slug,
            "pretty_json": pretty_json,
            "tone": lambda word: TONES.get(word, "v-open"),
            "duration": duration,
            "data": lambda value: Markup(json.dumps(value).replace("<", "\\u003c")),  # noqa: S704 - JSON without a tag
        }

    def page(self, template: str, request: Request, status: int = 200, /, **context: Any) -> HTMLResponse:
        """The template with what every page shows."""
        text = self.env.get_template(template).render(
            version=__version__,
            database=self.path.name,
            here=request.url.path,
            comparing=self.other is not None,
            **context,
        )
        return HTMLResponse(text, status)


def duration(seconds: float | None) -> str:
    """A time span for people."""
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Guard:
    """Adds the headers, and asks for the token where the server listens to more than this machine."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request: refused without the token, answered with the headers."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"], *((k.lower().encode(), v.encode()) for k, v in HEADERS.items())
                ]  # fmt: skip
            await send(message)

        if scope["method"] not in ("GET", "HEAD"):
            await PlainTextResponse("only reading is possible here", 405)(scope, receive, with_headers)
            return
        if self.token is not None and not self._knows(scope):
            query = dict(part.partition("=")[::2] for part in scope["query_string"].decode("latin-1").split("&"))
            if hmac.compare_digest(query.get("token", "").encode(), self.token.encode()):
                answer: Response = RedirectResponse(scope["path"])
                answer.set_cookie("orledger", self.token, httponly=True, samesite="strict")
            else:
                answer = PlainTextResponse(
                    "this explorer asks for its token: open the address that orledger serve printed", 401
                )
            await answer(scope, receive, with_headers)
            return
        await self.app(scope, receive, with_headers)

    def _knows(self, scope: Scope) -> bool:
        cookies = next((v.decode("latin-1") for k, v in scope["headers"] if k == b"cookie"), "")
        given = next(
            (c.strip().removeprefix("orledger=") for c in cookies.split(";") if c.strip().startswith("orledger=")), ""
        )
        return hmac.compare_digest(given.encode(), (self.token or "").encode())


def application(explorer: Explorer) -> Starlette:
    """The pages of ``explorer`` as an application that any ASGI server can run."""
    x = explorer

    def home(request: Request) -> Response:
        with x.mirror.results() as results:
            return x.page("explorer_home.html.j2", request, note=results.note, **overview.overview(results))

    def run(request: Request) -> Response:
        name = "explorer_live.html.j2" if request.query_params.get("part") else "explorer_run.html.j2"
        with x.mirror.results() as results:
            return x.page(name, request, note=results.note, **overview.live(results))

    def all_cells(request: Request) -> Response:
        chosen = cells.Chosen.read(request.query_params)
        with x.mirror.results() as results:
            return x.page("explorer_cells.html.j2", request, note=results.note, **cells.page(results, chosen))

    def one_cell(request: Request) -> Response:
        with x.mirror.results() as results:
            found = cells.one(results, request.path_params["cell_id"])
            if found is None:
                return missing(request, f"no cell {request.path_params['cell_id']}")
            return x.page("explorer_cell.html.j2", request, note=results.note, **found)

    def metric(request: Request) -> Response:
        asked = request.query_params
        with x.mirror.results() as results:
            labels = studies.labels(studies.present(results))
            found = metrics.page(results, asked, asked.getlist("arm"), labels)
            return x.page("explorer_metric.html.j2", request, note=results.note, **found)

    def hypothesis(request: Request) -> Response:
        with x.mirror.results() as results:
            found = overview.hypothesis(results, request.path_params["name"])
            if found is None:
                return missing(request, f"no hypothesis {request.path_params['name']}")
            return x.page("explorer_hypothesis.html.j2", request, note=results.note, **found)

    def all_tables(request: Request) -> Response:
        with x.mirror.results() as results:
            here = studies.present(results)
            return x.page(
                "explorer_tables.html.j2", request, note=results.note,
                tables=building.declared(here).values(), figures=drawing.declared(here).values(),
            )  # fmt: skip

    def one_table(request: Request) -> Response:
        with x.mirror.results() as results:
            here = studies.present(results)
            specs = building.declared(here)
            if request.path_params["name"] not in specs:
                return missing(request, f"no table {request.path_params['name']}")
            table = building.build(specs[request.path_params["name"]], results, labels=studies.labels(here))
            return x.page("explorer_table.html.j2", request, note=results.note, table=table_view(results, table))

    def figure(request: Request) -> Response:
        with x.mirror.results() as results:
            specs = drawing.declared(studies.present(results))
            spec = specs.get(request.path_params["name"])
            if spec is None:
                return missing(request, f"no figure {request.path_params['name']}")
            buffer = io.BytesIO()
            with DRAWING, house_style():
                spec.render(results).figure.savefig(buffer, format="svg", metadata=METADATA["svg"])
        return Response(buffer.getvalue(), media_type="image/svg+xml")

    def sql(request: Request) -> Response:
        query = request.query_params.get("q", "")
        with x.mirror.results() as results:
            shown: dict[str, Any] = {"query": query, "columns": [], "rows": [], "total": 0, "error": None}
            if query.strip():
                try:
                    frame = _ask(x, results, query)
                    shown |= {"columns": frame.columns, "rows": frame.head(SHOWN).rows(), "total": frame.height}
                except OrledgerError as error:
                    shown["error"] = error
            return x.page(
                "explorer_sql.html.j2",
                request,
                note=results.note,
                schema=described(results.con),
                limits=x.limits,
                **shown,
            )

    def download(request: Request) -> Response:
        with x.mirror.results() as results:
            try:
                frame = _ask(x, results, request.query_params.get("q", ""))
            except OrledgerError as error:
                return PlainTextResponse(str(error), 400)
        buffer = io.BytesIO()
        kind = request.path_params["kind"]
        frame.write_parquet(buffer) if kind == "parquet" else frame.write_csv(buffer)
        return Response(
            buffer.getvalue(),
            media_type="application/vnd.apache.parquet" if kind == "parquet" else "text/csv",
            headers={"Content-Disposition": f'attachment; filename="query.{kind}"'},
        )

    def compared(request: Request) -> Response:
        if x.other is None:
            return missing(request, "no second database: orledger serve --compare OTHER.duckdb")
        second = Mirror(x.other, x.limits)
        try:
            with x.mirror.results() as left, second.results() as right:
                result = compare(left, right, (x.path.name, x.other.name))
        finally:
            second.close()
        frames = {n: getattr(result, n) for n in FRAMES}
        return x.page("explorer_compare.html.j2", request, note=None, result=result, frames=frames)

    def missing(request: Request, message: str) -> Response:
        return x.page("explorer_problem.html.j2", request, 404, note=None, message=message, hint=None)

    async def problem(request: Request, error: Exception) -> Response:
        message, hint = (
            (error.message, error.hint) if isinstance(error, OrledgerError) else (str(error) or "no such page", None)
        )
        status = getattr(error, "status_code", 500)
        return x.page("explorer_problem.html.j2", request, status, note=None, message=message, hint=hint)

    def report_file(name: str, kind: str) -> Callable[[Request], Response]:
        text = files("orledger.templates").joinpath(name).read_text(encoding="utf-8")
        return lambda _request: Response(text, media_type=kind)

    @asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        yield
        x.mirror.close()

    return Starlette(
        routes=[
            Route("/", home),
            Route("/run", run),
            Route("/cells", all_cells),
            Route("/cell/{cell_id}", one_cell),
            Route("/metric", metric),
            Route("/hypothesis/{name:path}", hypothesis),
            Route("/tables", all_tables),
            Route("/table/{name}", one_table),
            Route("/figure/{name}.svg", figure),
            Route("/sql", sql),
            Route("/query.{kind:str}", download),
            Route("/compare", compared),
            Route("/static/report.css", report_file("report.css", "text/css")),
            Route("/static/report.js", report_file("report.js", "text/javascript")),
            Mount("/static", StaticFiles(packages=[("orledger.explorer", "static")])),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=list(x.hosts), www_redirect=False),
            Middleware(Guard, token=x.token),
        ],
        exception_handlers={404: problem, OrledgerError: problem},
        lifespan=life,
    )


DRAWING = threading.Lock()  # matplotlib's settings belong to the process


def _ask(explorer: Explorer, results: Results, query: str) -> pl.DataFrame:
    """The rows of a user's query; only so many run at the same time."""
    with explorer.slots:
        return run_query(results, query, limits=explorer.limits)


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(24)
