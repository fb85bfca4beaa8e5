"""The web application: one function per page, all of them reading."""

from __future__ import annotations

import io
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from orledger import studies
from orledger.errors import OrledgerError
from orledger.explorer import cells, hypotheses, metrics, overview
from orledger.explorer.guard import Guard
from orledger.explorer.mirror import Mirror
from orledger.schema.describing import tables as described

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.requests import Request

    from orledger.explorer.site import Explorer

SHOWN = 500  # rows of a query that the page shows; the downloads have all
KINDS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def application(x: Explorer) -> Starlette:
    """The pages of an explorer as an application that any ASGI server can run.

    What draws and computes (matplotlib, scipy) is imported by the pages that need it, so that the server listens at once.
    """

    def home(request: Request) -> Response:
        with x.mirror.results() as results:
            return x.page("explorer_home.html.j2", request, results, **overview.overview(results))

    def run(request: Request) -> Response:
        name = "explorer_live.html.j2" if request.query_params.get("part") else "explorer_run.html.j2"
        with x.mirror.results() as results:
            return x.page(name, request, results, **overview.live(results))

    def all_cells(request: Request) -> Response:
        chosen = cells.Chosen.read(request.query_params)
        with x.mirror.results() as results:
            return x.page("explorer_cells.html.j2", request, results, **cells.page(results, chosen))

    def one_cell(request: Request) -> Response:
        with x.mirror.results() as results:
            found = cells.one(results, request.path_params["cell_id"])
            if found is None:
                return x.missing(request, f"no cell {request.path_params['cell_id']}")
            return x.page("explorer_cell.html.j2", request, results, **found)

    def metric(request: Request) -> Response:
        asked = request.query_params
        with x.mirror.results() as results:
            labels = studies.labels(studies.present(results))
            found = metrics.page(results, asked, asked.getlist("arm"), labels)
            return x.page("explorer_metric.html.j2", request, results, **found)

    def hypothesis(request: Request) -> Response:
        with x.mirror.results() as results:
            found = hypotheses.hypothesis(results, request.path_params["name"])
            if found is None:
                return x.missing(request, f"no hypothesis {request.path_params['name']}")
            return x.page("explorer_hypothesis.html.j2", request, results, **found)

    def one_test(request: Request) -> Response:
        with x.mirror.results() as results:
            found = hypotheses.test(results, request.path_params["id"], lambda query: x.ask(results, query))
            if found is None:
                return x.missing(request, f"no test {request.path_params['id']}")
            return x.page("explorer_test.html.j2", request, results, **found)

    def one_claim(request: Request) -> Response:
        with x.mirror.results() as results:
            found = hypotheses.claim(results, request.path_params["id"], lambda query: x.ask(results, query))
            if found is None:
                return x.missing(request, f"no claim {request.path_params['id']}")
            return x.page("explorer_claim.html.j2", request, results, **found)

    def all_tables(request: Request) -> Response:
        from orledger.explorer import tables

        with x.mirror.results() as results:
            return x.page("explorer_tables.html.j2", request, results, **tables.listed(results))

    def one_table(request: Request) -> Response:
        from orledger.explorer import tables

        with x.mirror.results() as results:
            found = tables.table_page(results, request.path_params["name"])
            if found is None:
                return x.missing(request, f"no table {request.path_params['name']}")
            return x.page("explorer_table.html.j2", request, results, **found)

    def number(request: Request) -> Response:
        from orledger.explorer import tables

        with x.mirror.results() as results:
            found = tables.number_page(results, request.query_params, lambda query: x.ask(results, query))
            if found is None:
                return x.missing(request, "no such number in a table", "numbers of a table lead here")
            return x.page("explorer_number.html.j2", request, results, **found)

    def one_figure(request: Request) -> Response:
        from orledger.explorer import tables

        with x.mirror.results() as results:
            found = tables.figure(results, request.path_params["name"])
            title = dict(f[:2] for f in tables.listed(results)["figures"]).get(request.path_params["name"], "")
            if found is None:
                return x.missing(request, f"no figure {request.path_params['name']}")
            name, queries = request.path_params["name"], found[1]
            return x.page("explorer_figure.html.j2", request, results, name=name, title=title, queries=queries)

    def image(request: Request) -> Response:
        from orledger.explorer import tables

        with x.mirror.results() as results:
            found = tables.figure(results, request.path_params["name"])
        if found is None:
            return x.missing(request, f"no figure {request.path_params['name']}")
        return Response(found[0], media_type="image/svg+xml")

    def sql(request: Request) -> Response:
        query = request.query_params.get("q", "")
        with x.mirror.results() as results:
            shown: dict[str, Any] = {"query": query, "columns": [], "rows": [], "total": 0, "error": None}
            if query.strip():
                try:
                    frame = x.ask(results, query)
                    shown |= {"columns": frame.columns, "rows": frame.head(SHOWN).rows(), "total": frame.height}
                except OrledgerError as error:
                    shown["error"] = error
            schema = results.remember(("schema",), lambda: described(results.con))
            return x.page("explorer_sql.html.j2", request, results, schema=schema, limits=x.limits, **shown)

    def download(request: Request) -> Response:
        kind = request.path_params["kind"]
        if kind not in KINDS:
            return x.missing(request, f"no download as {kind}", "query.csv or query.parquet")
        with x.mirror.results() as results:
            try:
                frame = x.ask(results, request.query_params.get("q", ""))
            except OrledgerError as error:
                return PlainTextResponse(str(error), 400)
        buffer = io.BytesIO()
        frame.write_parquet(buffer) if kind == "parquet" else frame.write_csv(buffer)
        saved = {"Content-Disposition": f'attachment; filename="query.{kind}"'}
        return Response(buffer.getvalue(), media_type=KINDS[kind], headers=saved)

    def rechecked(request: Request) -> Response:
        from orledger.explorer import papers

        with x.mirror.results() as results:
            return x.page("explorer_recheck.html.j2", request, results, papers=papers.papers(results))

    def compared(request: Request) -> Response:
        from orledger.reports.report.compare import FRAMES, compare

        if x.other is None:
            return x.missing(request, "no second database", "orledger serve --compare OTHER.duckdb")
        second = Mirror(x.other, x.limits)
        try:
            with x.mirror.results() as left, second.results() as right:
                result = compare(left, right, (x.path.name, x.other.name))
        finally:
            second.close()
        frames = {n: getattr(result, n) for n in FRAMES}
        return x.page("explorer_compare.html.j2", request, result=result, frames=frames)

    def kept(page: Callable[[Request], Response]) -> Callable[[Request], Response]:
        """``page``, made once for each state of the database and address: the same question has the same answer."""

        def answer(request: Request) -> Response:
            address = f"{request.url.path}?{request.url.query}"
            with x.mirror.results() as results:
                found = results.recall(address)
                if found is not None:
                    return HTMLResponse(found)
                made = page(request)
                if made.status_code == 200:
                    results.keep(address, bytes(made.body))
                return made

        return answer

    async def problem(request: Request, error: Exception) -> Response:
        message, hint = (
            (error.message, error.hint) if isinstance(error, OrledgerError) else (str(error) or "no such page", None)
        )
        status = getattr(error, "status_code", 500)
        return x.page("explorer_problem.html.j2", request, status=status, message=message, hint=hint)

    def report_file(name: str, kind: str) -> Callable[[Request], Response]:
        text = files("orledger.templates").joinpath(name).read_text(encoding="utf-8")
        return lambda _request: Response(text, media_type=kind)

    @asynccontextmanager
    async def life(_app: Starlette) -> AsyncIterator[None]:
        yield
        x.mirror.close()

    return Starlette(
        routes=[
            Route("/", kept(home)),
            Route("/run", kept(run)),
            Route("/cells", kept(all_cells)),
            Route("/cell/{cell_id}", kept(one_cell)),
            Route("/metric", kept(metric)),
            Route("/hypothesis/{name:path}", kept(hypothesis)),
            Route("/test/{id}", kept(one_test)),
            Route("/claim/{id}", kept(one_claim)),
            Route("/tables", kept(all_tables)),
            Route("/table/{name}", kept(one_table)),
            Route("/number", kept(number)),
            Route("/figure/{name}.svg", image),
            Route("/figure/{name}", kept(one_figure)),
            Route("/sql", sql),
            Route("/query.{kind:str}", download),
            Route("/recheck", kept(rechecked)),
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
