"""The web application: one function per page, all of them reading."""

from __future__ import annotations

from contextlib import asynccontextmanager
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import anyio.to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from orledger import studies
from orledger.errors import OrledgerError
from orledger.explorer import cell, cells, hypotheses, metrics, overview, queries
from orledger.explorer.guard import HEADERS, Guard
from orledger.explorer.lanes import Lane
from orledger.explorer.site import AT_ONCE, PATIENCE
from orledger.explorer.warming import Warming

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from starlette.requests import Request

    from orledger.explorer.mirror import Copied
    from orledger.explorer.site import Explorer

    Page = Callable[[Request, Copied], Response]
    Answer = Callable[[Request], Response]

THREADS = 12  # pages that are made at the same time
STATIC = {
    "report.css": "orledger.templates",
    "recheck.css": "orledger.templates",
    "report.js": "orledger.templates",
    **dict.fromkeys(("explorer.css", "explorer.js", "chart.js", "charts.js"), "orledger.explorer.static"),
}


def application(x: Explorer) -> Starlette:
    """The pages of an explorer as an application that any ASGI server can run.

    What draws and computes (matplotlib, scipy) is imported by the pages that need it, so that the server listens at once.
    """

    def labels(results: Copied) -> Mapping[str, str]:
        """Names for people of the arms of the studies at hand."""
        return results.remember(("labels",), lambda: studies.labels(studies.present(results)))

    def home(request: Request, results: Copied) -> Response:
        return x.page("explorer_home.html.j2", request, results, **overview.overview(results))

    def run(request: Request, results: Copied) -> Response:
        name = "explorer_live.html.j2" if request.query_params.get("part") else "explorer_run.html.j2"
        return x.page(name, request, results, **overview.live(results))

    def mark(_request: Request, results: Copied) -> Response:
        return PlainTextResponse(results.mark)

    def all_cells(request: Request, results: Copied) -> Response:
        chosen = cells.Chosen.read(request.query_params, request.query_params.getlist("col"))
        found = cells.page(results, chosen)
        return x.page(
            "explorer_cells.html.j2", request, results, labels=labels(results) if chosen.metric else {}, **found
        )

    def one_cell(request: Request, results: Copied) -> Response:
        name = request.path_params["cell_id"]
        found = cell.one(results, name, request.query_params.get("series", ""))
        return x.found(
            "explorer_cell.html.j2", request, results, found, f"no cell {name}", "the list of cells has a filter"
        )

    def metric(request: Request, results: Copied) -> Response:
        asked = request.query_params
        found = metrics.page(results, asked, asked.getlist("arm"), labels(results))
        return x.page("explorer_metric.html.j2", request, results, **found)

    def metric_rows(request: Request, results: Copied) -> Response:
        query = metrics.behind(results, request.query_params)
        if query is None:
            return x.missing(request, "no such line of a metric", "counts of the metric page lead here")
        return RedirectResponse("/sql?" + urlencode({"q": query}))

    def hypothesis(request: Request, results: Copied) -> Response:
        name = request.path_params["name"]
        found = hypotheses.hypothesis(results, name)
        return x.found("explorer_hypothesis.html.j2", request, results, found, f"no hypothesis {name}")

    def one_test(request: Request, results: Copied) -> Response:
        name = request.path_params["id"]
        found = hypotheses.test(results, name, lambda query: x.ask_stored(results, query))
        return x.found("explorer_test.html.j2", request, results, found, f"no test {name}")

    def one_claim(request: Request, results: Copied) -> Response:
        name = request.path_params["id"]
        found = hypotheses.claim(results, name, lambda query: x.ask_stored(results, query))
        return x.found("explorer_claim.html.j2", request, results, found, f"no claim {name}")

    def all_tables(request: Request, results: Copied) -> Response:
        from orledger.explorer import tables

        return x.page("explorer_tables.html.j2", request, results, **tables.listed(results))

    def one_table(request: Request, results: Copied) -> Response:
        from orledger.explorer import tables

        name = request.path_params["name"]
        return x.found("explorer_table.html.j2", request, results, tables.table_page(results, name), f"no table {name}")

    def number(request: Request, results: Copied) -> Response:
        from orledger.explorer import tables

        found = tables.number_page(results, request.query_params)
        absent = ("no such number in a table", "numbers of a table lead here")
        return x.found("explorer_number.html.j2", request, results, found, *absent)

    def one_figure(request: Request, results: Copied) -> Response:
        from orledger.explorer import tables

        name = request.path_params["name"]
        drawn = tables.figure(results, name)
        return x.found("explorer_figure.html.j2", request, results, drawn and drawn[1], f"no figure {name}")

    def image(request: Request, results: Copied) -> Response:
        from orledger.explorer import tables

        found = tables.figure(results, request.path_params["name"])
        if found is None:
            return x.missing(request, f"no figure {request.path_params['name']}")
        return Response(found[0], media_type="image/svg+xml")

    def sql(request: Request, results: Copied) -> Response:
        return queries.page(x, request, results)

    def download(request: Request, results: Copied) -> Response:
        return queries.download(x, request, results)

    def rechecked(request: Request, results: Copied) -> Response:
        from orledger.explorer import papers

        return x.page("explorer_recheck.html.j2", request, results, papers=papers.papers(results))

    def compared(request: Request, results: Copied) -> Response:
        if x.second is None or x.other is None:
            return x.missing(request, "no second database", f"orledger serve --db {x.path.name} --compare OTHER.duckdb")
        from orledger.explorer import comparing

        names = comparing.told_apart(x.path, x.other)
        with x.second.results() as right:
            states = (results.state, right.state)
            found = x.comparisons.get(states, lambda: comparing.compared(results, right, names))
        return x.page("explorer_compare.html.j2", request, results, **found)

    users, drawing, warming = Lane(AT_ONCE, PATIENCE), Lane(1, PATIENCE), Warming(x)

    def anew(page: Page) -> Answer:
        """``page``, made each time it is asked for, from one state of the database."""

        def answer(request: Request) -> Response:
            with x.mirror.results() as results:
                return page(request, results)

        return answer

    def kept(page: Page) -> Answer:
        """``page``, made once for each state of the database and address: the same question has the same answer."""

        def answer(request: Request) -> Response:
            address = f"{request.url.path}?{request.url.query}"
            with x.mirror.results() as results:

                def make() -> tuple[int, bytes]:
                    made = page(request, results)
                    return made.status_code, bytes(made.body)

                status, text = results.pages.get((address, results.note), make, lambda made: made[0] == 200)
            warming.answered.set()
            return HTMLResponse(text, status)

        return answer

    def within(lane: Lane, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        """``answer``, which may take long, when its turn in ``lane`` has come; other pages do not wait for it."""

        async def later(request: Request) -> Response:
            return await lane.run(lambda: answer(request))

        return later

    async def problem(request: Request, error: Exception) -> Response:
        message, hint = (
            (error.message, error.hint) if isinstance(error, OrledgerError) else (f"no page {request.url.path}", None)
        )
        status = getattr(error, "status_code", 500)
        return x.problem(request, status, message, hint)

    async def defect(request: Request, error: Exception) -> Response:
        """What nobody foresaw: said on a page, while the console has the traceback. It does not pass the guard on its way out."""
        answer = x.problem(
            request, 500, f"{type(error).__name__}: this is a defect of orledger", "the console has more"
        )
        answer.headers.update(HEADERS)
        return answer

    def static(name: str, package: str) -> Route:
        """A file that is read once and never waits for a thread."""
        text = files(package).joinpath(name).read_text(encoding="utf-8")

        async def answer(_request: Request) -> Response:
            return Response(text, media_type="text/css" if name.endswith(".css") else "text/javascript")

        return Route(f"/static/{name}", answer)

    @asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        warming.start()
        yield
        warming.end()
        x.close()

    return Starlette(
        routes=[
            Route("/", kept(home)),
            Route("/run", kept(run)),
            Route("/mark", anew(mark)),
            Route("/cells", kept(all_cells)),
            Route("/cell/{cell_id}", kept(one_cell)),
            Route("/metric", kept(metric)),
            Route("/metric/rows", anew(metric_rows)),
            Route("/hypothesis/{name:path}", kept(hypothesis)),
            Route("/test/{id}", kept(one_test)),
            Route("/claim/{id}", kept(one_claim)),
            Route("/tables", kept(all_tables)),
            Route("/table/{name}", kept(one_table)),
            Route("/number", kept(number)),
            Route("/figure/{name}.svg", within(drawing, anew(image))),
            Route("/figure/{name}", within(drawing, kept(one_figure))),
            Route("/sql", within(users, anew(sql))),
            Route("/query.{kind:str}", within(users, anew(download))),
            Route("/recheck", kept(rechecked)),
            Route("/compare", within(drawing, anew(compared))),
            *(static(name, package) for name, package in STATIC.items()),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=list(x.hosts), www_redirect=False),
            Middleware(Guard, token=x.token),
        ],
        exception_handlers={404: problem, OrledgerError: problem, Exception: defect},
        lifespan=life,
    )
