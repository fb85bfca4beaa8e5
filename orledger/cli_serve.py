"""``orledger serve``: the explorer, pages in a browser that read the database and write nothing."""

from __future__ import annotations

import ipaddress
import socket
from pathlib import Path

import click

from orledger.cli_options import db_option
from orledger.errors import UsageError

LONGEST = 2**20  # bytes of a request: a query stands in its address
LEAST_MB = 3072  # megabytes that the server may take beyond what it starts with, however little a query may: pages draw figures


@click.command()
@db_option
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; other machines need a token.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="Port; 0 takes a free one."
)
@click.option("--compare", "other", type=click.Path(path_type=Path), help="A second database to compare with.")
@click.option("--open/--no-open", "browser", default=True, help="Open a browser.")
def serve(db: Path, host: str, port: int, other: Path | None, browser: bool) -> None:
    """Look at results in a browser: hypotheses, cells, metrics, tables, figures, SQL, and a run while it goes on.

    The pages answer from a private copy, so a run that writes is not disturbed. Nothing can be changed through them.
    """
    try:
        import uvicorn

        from orledger.explorer.app import application
        from orledger.explorer.guard import new_token
        from orledger.explorer.memory import steady
        from orledger.explorer.mirror import AbsentError, NotYetError
        from orledger.explorer.site import Explorer
        from orledger.schema.sandbox import confined
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the explorer needs {error.name}, which is not installed", hint="pip install 'orledger[serve]'"
        ) from error
    steady()  # before DuckDB starts a thread
    if other is not None:
        from orledger.schema.reading import open_results

        open_results(other).close()
    local = host == "localhost" or _loopback(host)
    token = None if local else new_token()
    hosts = ("127.0.0.1", "localhost", "[::1]") if local else ("*",)
    # With the protocol named, asyncio sends small packets at once; without, each answer would wait 40 ms for the client.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise UsageError(
                f"cannot listen on {host} port {port}: {error}", hint="choose another --port; 0 takes a free one"
            ) from error
        shown = f"[{host}]" if ":" in host else host
        address = f"http://{shown}:{listener.getsockname()[1]}/" + (f"?token={token}" if token else "")
        x = Explorer(db, other, token, hosts)
        try:
            try:
                x.mirror.look()  # a foreign file is told before anything listens
            except NotYetError as error:
                click.echo(f"{error.message}; the pages will show it when it has", err=True)
            except AbsentError as error:
                if not db.absolute().parent.is_dir():
                    raise
                click.echo(f"{error.message} yet; the pages will show it when there is", err=True)
            listener.listen()  # whoever comes before the server is ready waits for it
            click.echo(f"{db} at {address}  (Ctrl-C ends it)")
            if browser and local:
                import webbrowser

                webbrowser.open(address)
            # As for orledger sql; nothing else bounds what a function makes of a stored query.
            with confined(max(LEAST_MB, 3 * x.limits.memory_mb)):
                config = uvicorn.Config(
                    application(x),
                    log_level="warning",
                    access_log=False,
                    ws="none",
                    h11_max_incomplete_event_size=LONGEST,
                )
                uvicorn.Server(config).run(sockets=[listener])
        finally:
            x.close()


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
