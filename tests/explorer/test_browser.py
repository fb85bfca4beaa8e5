"""The explorer in a real browser: every page at two widths, the chart, the keyboard, and no request to anywhere else."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from orledger.explorer.app import application
from orledger.explorer.site import Explorer

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]


@pytest.fixture
def address(database: Path) -> Iterator[str]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application(Explorer(database)), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(timeout=30)
    listener.close()


def test_pages_in_a_browser(address: str) -> None:
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=flags)
        problems: list[str] = []
        for width, scheme in ((1440, "light"), (390, "dark")):
            page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
            page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
            page.on("pageerror", lambda e: problems.append(str(e)))
            page.on("request", lambda r: problems.append(r.url) if not r.url.startswith((address, "data:")) else None)
            for path in ("/", "/run", "/cells", "/cell/c0", "/metric", "/tables", "/sql"):
                page.goto(address + path)
                wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                assert wide <= 0, f"{path} is wider than {width} px"
            page.goto(f"{address}/metric?metric=mine/main/error&group=seed")
            assert page.evaluate("Chart.getChart('chart').data.datasets.length") == 2
            page.goto(f"{address}/sql")
            page.fill("textarea", "SELECT count(*) AS cells FROM cell")
            page.press("textarea", "Control+Enter")
            page.wait_for_selector("td:has-text('8')")
            page.goto(address)
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.textContent") == "Skip to the page"
        browser.close()
    assert problems == []
