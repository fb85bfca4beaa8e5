"""The report in a real Chromium: on a desk and on a phone, light, dark and printed, by mouse and by keyboard, and for everybody."""

import re
import shutil
from contextlib import contextmanager

import pytest

pytestmark = pytest.mark.browser
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 300_000  # milliseconds; a busy machine is slow
DESK = {"width": 1440, "height": 900}
PRINTED = {"width": "210mm", "height": "297mm"}


@pytest.fixture
def path(report):
    return report


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    playwright = pytest.importorskip("playwright.sync_api")
    if chromium is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as p:
        found = p.chromium.launch(executable_path=chromium, args=FLAGS, timeout=PATIENCE)
        yield found
        found.close()


@contextmanager
def opened(browser, path):
    """The page on a desk; nothing it says to the console and nothing it asks of the world goes unnoticed."""
    said, asked = [], []
    page = browser.new_page(viewport=DESK)
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda m: said.append(m.text))
    page.on("pageerror", lambda e: said.append(str(e)))
    page.on("request", lambda r: asked.append(r.url) if not r.url.startswith(("file:", "data:", "blob:")) else None)
    page.goto(path.as_uri())
    yield page
    page.close()
    assert said == []
    assert asked == []


@pytest.fixture
def tab(browser, path):
    """A page of one's own."""
    with opened(browser, path) as page:
        yield page


@pytest.fixture(scope="module")
def desk(browser, report):
    """A page for the tests to which it does not matter what others sorted, opened or closed on it."""
    with opened(browser, report) as page:
        yield page


def test_tables_sort_and_filter(desk):
    cells = "#blocks tbody tr td:nth-child(8)"
    before = [int(t) for t in desk.locator(cells).all_inner_texts()]
    desk.locator("#blocks thead th:nth-child(8) button").click()
    assert [int(t) for t in desk.locator(cells).all_inner_texts()] == sorted(before)
    assert desk.locator("#blocks thead th:nth-child(8)").get_attribute("aria-sort") == "ascending"
    desk.locator("#blocks thead th:nth-child(8) button").press("Enter")
    assert [int(t) for t in desk.locator(cells).all_inner_texts()] == sorted(before, reverse=True)
    desk.locator("input[data-filter=recheck-t]").fill("inconsistent")
    assert 0 < desk.locator("#recheck-t tbody tr:visible").count() < desk.locator("#recheck-t tbody tr").count()


def test_a_number_opens_to_its_records_and_its_query(desk):
    """By keyboard, with focus in the dialog; the rows are those that the shown query gives."""
    link = desk.locator("h3#table-Barms + figure a.n").first
    link.press("Enter")
    dialog = desk.locator("dialog.behind")
    dialog.wait_for()
    assert re.match(r"Table Barms, .+: \S", dialog.locator("h2").inner_text())
    promised = int(re.match(r"(\d+) records? of", dialog.locator("h3").first.inner_text())[1])
    assert dialog.locator("table").first.locator("tbody tr").count() == promised
    assert dialog.locator("pre.sql").first.text_content().startswith("SELECT")
    desk.keyboard.press("Escape")
    assert desk.locator("dialog.behind").count() == 0


def test_queries_open_with_rows_and_a_copy_button(desk):
    disclosure = desk.locator("#case-a details[data-rows]").first
    disclosure.locator("summary").first.press("Enter")
    disclosure.locator("table tbody tr").first.wait_for()
    assert disclosure.locator("button.copy").inner_text() == "Copy the SQL"
    later = desk.locator("#closer")
    later.locator("summary").click()
    later.locator("table tbody tr").first.wait_for()
    later.locator("input").fill("absent here")
    assert 0 < later.locator("tbody tr:visible").count() < later.locator("tbody tr").count()


def test_the_page_opens_at_once_and_its_contents_find_tables_and_say_where_one_is(tab):
    assert tab.evaluate("document.querySelectorAll('*').length") < 40_000
    assert tab.locator("nav a[aria-current]").inner_text() == "Findings"
    tab.locator("#find").fill("ladder")
    shown = tab.locator("nav li:visible a").all_inner_texts()
    assert any("Table Aladder" in t for t in shown)
    assert not any("Table Barms" in t for t in shown)
    tab.locator("#find").fill("")
    for name in ("table-Barms", "hypothesis-H4", "figure-Cinv"):
        tab.evaluate(f"location.hash = '#{name}'")
        tab.locator(f"nav a[aria-current][href='#{name}']").wait_for(state="attached")
        top = tab.evaluate(f"document.getElementById('{name}').getBoundingClientRect().top")
        assert 0 <= top < 120, name
        assert tab.evaluate(f"document.getElementById('{name}').tagName") == "H3"


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_overflows_and_captions_stand_outside_the_scrollers(desk, width):
    desk.set_viewport_size({"width": width, "height": 844})
    assert desk.evaluate("document.documentElement.scrollWidth") <= width
    assert desk.locator(".scroll .caption, .scroll caption").count() == 0
    wide = desk.evaluate(
        "[...document.querySelectorAll('.caption')].filter(c => c.getBoundingClientRect().right > innerWidth).length"
    )
    assert wide == 0
    desk.set_viewport_size(DESK)


def test_print_has_its_contents_first_and_cuts_nothing(tab):
    """On paper the contents stand before the findings, no table is wider than the page, no heading ends one."""
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 688, "height": 1017})  # A4 less its margins
    assert tab.locator("nav").is_visible()
    assert not tab.locator("#find").is_visible()
    assert tab.evaluate(
        "document.querySelector('nav').getBoundingClientRect().top < document.querySelector('main').getBoundingClientRect().top"
    )
    cut = tab.evaluate(
        "[...document.querySelectorAll('table')].filter(t => t.checkVisibility() && t.getBoundingClientRect().right > innerWidth + 1).map(t => t.getAttribute('aria-labelledby') || t.id)"
    )
    assert cut == []
    assert tab.evaluate(
        "[...document.querySelectorAll('h2, h3')].every(h => getComputedStyle(h).breakAfter === 'avoid')"
    )
    assert tab.pdf(**PRINTED, print_background=True)[:5] == b"%PDF-"


def test_without_scripts_everything_but_packed_rows_is_there(browser, path):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(path.as_uri())
    assert page.locator("noscript p").is_visible()
    assert page.locator("nav a[href='#table-Barms']").is_visible()
    assert page.locator("details[data-rows] pre.sql").count() > 100
    context.close()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_axe_finds_nothing(browser, path, width, scheme):
    """The rules of WCAG 2 A and AA and of good practice: names, contrast, headings, landmarks, keyboard."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(PATIENCE)
    page.goto(path.as_uri())
    found = axe.run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}).response
    assert [(v["id"], [n["target"] for n in v["nodes"][:3]]) for v in found["violations"]] == []
    page.close()
