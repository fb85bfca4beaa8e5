"""The explorer in a real browser: every page at two widths, filters, the chart, the keyboard, downloads, and a run from start to end."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import live_run
import polars as pl
import pytest
import uvicorn

from orledger.explorer.app import application
from orledger.explorer.site import Explorer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
PATIENCE = 300_000  # milliseconds; a test waits for what it expects to see, and a busy machine is slow
# Pages look for news every few seconds: here sooner, so that a browser does not draw them meanwhile.
HURRY = "const later = setTimeout; setTimeout = (what, wait, ...more) => later(what, Math.min(wait, 200), ...more);"
PAGES = (
    "/",
    "/run",
    "/cells",
    "/cells?metric=error&col=key.dataset&order=arm.x",
    "/cell/c0",
    "/cell/c6",
    "/metric",
    "/hypothesis/better",
    "/tables",
    "/table/better-results",
    "/number?table=better-results&row=plain/4&column=arm+1",
    "/figure/better-differences",
    "/recheck",
    "/compare",
    "/sql",
    "/sql?q=SELECT+*+FROM+mine_main",
    "/nowhere",
)


@contextmanager
def serving(database: Path) -> Iterator[str]:
    """The explorer on ``database`` at a free port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(application(Explorer(database, other=database)), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(timeout=PATIENCE / 1000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        found = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE)
        yield found
        found.close()


@pytest.fixture(scope="module")
def address(filled: Path) -> Iterator[str]:
    with serving(filled) as found:
        yield found


def opened(browser: Browser, address: str, width: int = 1440, scheme: str = "light") -> tuple[Page, list[str]]:
    """A page, and what goes wrong on it: errors of the console, of scripts, and requests to elsewhere."""
    page = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()  # type: ignore[arg-type]
    page.set_default_timeout(PATIENCE)
    problems: list[str] = []
    page.on("console", lambda m: problems.append(m.text) if m.type == "error" and "404" not in m.text else None)
    page.on("pageerror", lambda e: problems.append(str(e)))
    page.on("request", lambda r: problems.append(r.url) if not r.url.startswith((address, "data:")) else None)
    return page, problems


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_every_page_fits_and_asks_for_nothing_elsewhere(
    browser: Browser, address: str, width: int, scheme: str
) -> None:
    page, problems = opened(browser, address, width, scheme)
    for path in PAGES:
        page.goto(address + path)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{path} is wider than {width} px"
        assert page.locator("h1").count() == 1
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
    assert problems == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (390, "light")])
def test_every_page_obeys_the_rules_of_accessibility(browser: Browser, address: str, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page, _ = opened(browser, address, width, scheme)
    for path in PAGES:
        page.goto(address + path)
        found = axe.run(page).response["violations"]
        assert [(v["id"], v["nodes"][0]["html"]) for v in found] == [], path


def test_what_comes_late_or_in_a_narrow_window_scrolls_with_the_keyboard(browser: Browser, address: str) -> None:
    page, problems = opened(browser, address, 390)
    held: list[Route] = []
    page.route("**/*.svg", lambda route: held.append(route))
    with page.expect_request("**/*.svg"):
        page.goto(f"{address}/figure/better-differences", wait_until="domcontentloaded")  # the scripts have run
    box = "document.querySelector('figure .scroll')"
    assert page.evaluate(f"{box}.tabIndex") == -1, "nothing is there to scroll to"
    held.pop().continue_()
    page.wait_for_load_state("load")
    assert page.evaluate(f"{box}.scrollWidth > {box}.clientWidth")
    assert page.evaluate(f"{box}.tabIndex") == 0
    assert "scrolls sideways" in page.evaluate(f"getComputedStyle({box}, '::before').content")
    assert page.evaluate(f"getComputedStyle({box}).maskImage").startswith("linear-gradient"), "it fades where more is"
    page.evaluate(f"{box}.scrollLeft = {box}.scrollWidth")
    page.wait_for_selector("figure .scroll:not([data-more])")
    assert page.evaluate(f"getComputedStyle({box}).maskImage") == "none", "its end is seen whole"
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{address}/cells")
    assert page.locator(".scroll[tabindex], .scroll[data-wide], .scroll[data-more]").count() == 0
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_selector(".scroll[tabindex='0']")
    assert problems == []


def test_filters_chart_query_and_downloads(browser: Browser, address: str) -> None:
    page, problems = opened(browser, address)
    page.goto(f"{address}/cells")
    page.select_option("select[name='key.seed']", "4")
    page.click("text=Show")
    page.wait_for_selector(r"text=/\b1 cell\b/")
    assert page.url == f"{address}/cells?key.seed=4"  # what was left empty is no part of a link to share
    page.click("summary:has-text('Columns')")
    page.uncheck("input[value='finished']")
    page.click("text=Show")
    page.wait_for_selector("th:has-text('records')")
    assert page.locator("th:has-text('finished')").count() == 0
    page.go_back()
    page.wait_for_selector("th:has-text('finished')")
    page.click("a[title='Take this filter away']")
    page.wait_for_selector("text=8 cells")
    page.click("text=mine/c4")
    page.wait_for_selector("h1:has-text('mine/c4')")
    page.goto(f"{address}/metric?metric=mine/main/error&group=seed")
    assert page.evaluate("Chart.getChart('chart').data.datasets.length") == 3
    page.select_option("select[name='group']", "")
    page.click("text=Show")
    page.wait_for_url("**&group=&**")
    assert (
        page.evaluate("Chart.getChart('chart').data.labels.length") == 3
    )  # without groups the arms stand side by side
    page.goto(f"{address}/sql")
    page.fill("textarea", "SELECT count(*) AS cells FROM cell")
    page.press("textarea", "Control+Enter")
    page.wait_for_selector("td:has-text('8')")
    page.click("text=Save in this browser")
    page.wait_for_selector("#saved >> text=SELECT count(*)")
    for kind, read in (("CSV", pl.read_csv), ("Parquet", pl.read_parquet)):
        with page.expect_download() as waiting:
            page.click(f"a:text-is('{kind}')")
        assert read(waiting.value.path())["cells"].to_list() == [8]
    assert problems == []


def test_from_a_number_to_its_cell_with_the_keyboard_alone(browser: Browser, address: str) -> None:
    page, problems = opened(browser, address)
    page.goto(f"{address}/table/better-results")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the page"
    page.keyboard.press("Enter")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "n":
            break
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "/number?" in page.url
    first = page.locator("main a[href^='/cell/']").first
    first.focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert re.search(r"/cell/c\d$", page.url)
    assert problems == []


def test_a_run_is_seen_from_start_to_end(browser: Browser, tmp_path: Path) -> None:
    """The run goes on when the test says so; every state is waited for on the page, which is never reloaded by hand."""
    database = tmp_path / "live.duckdb"
    command = [sys.executable, live_run.__file__, str(database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run, serving(database) as address:
        said, asked = run.stdin, run.stdout
        assert said is not None
        assert asked is not None

        def go() -> None:
            said.write(b"go\n")
            said.flush()

        try:
            page, problems = opened(browser, address)
            page.add_init_script(HURRY)
            asked.readline()  # the first cell waits, and a snapshot of the plan is there
            page.goto(f"{address}/run")
            page.wait_for_selector("text=0 of 4 done")
            page.wait_for_selector("text=a run is writing")
            beside, _ = opened(browser, address)
            beside.add_init_script(HURRY)
            beside.goto(f"{address}/cells")
            go()
            page.wait_for_selector("text=1 of 4 done")
            page.wait_for_selector("text=/snapshot of .* ago/")
            page.wait_for_selector(".figures >> text=3 left")
            page.focus(".figures >> text=3 left")
            go()
            page.wait_for_selector(".figures >> text=1 refused")
            page.wait_for_selector("h2:has-text('Refusals of cells') + .scroll >> text=told to refuse")
            assert page.evaluate("document.activeElement.textContent") == "2 left", "the focus stays where it was"
            beside.click("text=Newer results are there. >> text=Show them")
            beside.wait_for_selector("text=told to refuse")
            go()
            page.wait_for_selector(".figures >> text=1 failed")
            page.click("details >> summary:has-text('live/main/2 ZeroDivisionError: told to raise')")
            page.wait_for_selector("pre:has-text('ZeroDivisionError: told to raise')")
            go()
            page.wait_for_selector("text=2 of 4 done")
            page.wait_for_selector(".s-incomplete, .s-finished")
            page.wait_for_selector("text=a run is writing", state="detached")
            assert run.wait(timeout=PATIENCE / 1000) == 0
            first = page.text_content("text=/^Run /")
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            page.wait_for_function("(told) => !document.body.textContent.includes(told)", arg=str(first)[:26])
            page.goto(f"{address}/cells?state=failed")
            page.wait_for_selector(r"text=/\b1 cell\b/")
        finally:
            run.kill()
    assert problems == []
