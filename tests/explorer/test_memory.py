"""What a page used is let go of when it is answered, and the server looks for the rest."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
import uvicorn
from click.testing import CliRunner
from starlette.requests import Request

from orledger.cli import main
from orledger.errors import QueryRefusedError
from orledger.explorer import memory, queries
from orledger.explorer.site import Explorer

# Threads that are there at the same time, each with memory of its own: every one would get an arena, as far as there are enough.
ARENAS = """
import ctypes, threading
from orledger.explorer.memory import steady
steady()
c = ctypes.CDLL(None)
c.malloc.restype, c.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
together = threading.Barrier(6)
def use():
    held = c.malloc(5000)
    together.wait()
    c.free(held)
threads = [threading.Thread(target=use) for _ in range(6)]
for t in threads: t.start()
for t in threads: t.join()
c.fopen.restype, c.malloc_info.argtypes, c.fclose.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_void_p], [ctypes.c_void_p]
out = c.fopen(b"/dev/stdout", b"w")
c.malloc_info(0, out)
c.fclose(out)
"""


def test_a_query_with_a_mistake_holds_nothing_of_its_page(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the collector: an error that is shown has a traceback, and that the page."""

    def refused(*_: object) -> None:
        raise QueryRefusedError("no column nothing", hint="look at the tables")

    x = Explorer(filled)
    monkeypatch.setattr(x, "ask", refused)
    request = Request(
        {"type": "http", "method": "GET", "path": "/sql", "query_string": b"q=SELECT+nothing", "headers": []}
    )
    gc.disable()
    try:
        with x.mirror.results() as results:
            page = weakref.ref(results)
            shown = bytes(queries.page(x, request, results).body).decode()
        del results
        assert page() is None
    finally:
        gc.enable()
        x.close()
    assert "no column nothing" in shown
    assert "look at the tables" in shown


def test_the_server_looks_for_garbage_more_often_than_other_commands(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: seen.append(gc.get_threshold()))
    before = gc.get_threshold()
    try:
        answer = CliRunner().invoke(main, ["serve", "--db", str(filled), "--port", "0", "--no-open"])
    finally:
        gc.set_threshold(*before)
    assert answer.exit_code == 0, answer.output
    assert seen == [(memory.YOUNG, 10, 10)]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="no arenas")
def test_threads_share_the_heap() -> None:
    said = subprocess.run([sys.executable, "-c", ARENAS], check=True, capture_output=True, text=True).stdout
    assert 1 <= said.count("<heap nr=") <= memory.ARENAS
