"""The SQL page and its downloads."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from starlette.responses import PlainTextResponse, Response

from orledger.errors import OrledgerError
from orledger.explorer import metrics
from orledger.schema.describing import tables

if TYPE_CHECKING:
    from starlette.requests import Request

    from orledger.explorer.mirror import Copied
    from orledger.explorer.site import Explorer

SHOWN = 500  # rows of a query that the page shows; the downloads have all
KINDS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def page(x: Explorer, request: Request, results: Copied) -> Response:
    """The query of the address with the head of its answer or what is wrong with it, and what can be asked."""
    query = request.query_params.get("q", "")
    shown: dict[str, Any] = {"query": query, "columns": [], "rows": [], "total": 0, "error": None}
    if query.strip():
        began = time.perf_counter()
        try:
            columns, rows, total = x.ask(results, query, SHOWN)
            shown |= {"columns": columns, "rows": rows, "total": total, "seconds": time.perf_counter() - began}
        except OrledgerError as error:
            # Not the error itself: its traceback holds this page, and both would wait for the garbage collector.
            shown["error"] = {"message": error.message, "hint": error.hint}
    shown["schema"] = results.remember(("schema",), lambda: tables(results.con))
    shown["examples"] = results.remember(("examples",), lambda: metrics.examples(results))
    return x.page("explorer_sql.html.j2", request, results, limits=x.limits, **shown)


def download(x: Explorer, request: Request, results: Copied) -> Response:
    """All rows of the query of the address as a file."""
    kind = request.path_params["kind"]
    if kind not in KINDS:
        return x.missing(request, f"no download as {kind}", "query.csv or query.parquet")
    try:
        file = x.ask(results, request.query_params.get("q", ""), kind)
    except OrledgerError as error:
        return PlainTextResponse(str(error), 400)
    return Response(
        file, media_type=KINDS[kind], headers={"Content-Disposition": f'attachment; filename="query.{kind}"'}
    )
