"""The audit report: complete, self-contained, escaped, the same bytes twice, and alive in a real browser."""

import re
import shutil

import pytest
import synthetic_db

from orledger.paper.printed import PRINTED
from orledger.reports.report.compare import compare
from orledger.reports.report.compare_output import comparison_html, comparison_tables
from orledger.reports.report.differences import AGREE, APART, CLOSE, SAME_SIZE, differences, verdict
from orledger.reports.report.document import render_report
from orledger.reports.report.templating import slug
from orledger.reports.report.wording import number

HOSTILE = "<script>alert('x')</script>\\input{/etc/passwd} 100% a_b & \"q\""


# Figures that stand for all: Bis has data in the database of one case, the others have none there.
FEW = ("A", "Bis", "Cinv")


@pytest.fixture(scope="module")
def database(audited):
    return audited


@pytest.fixture(scope="module")
def page(report):
    return report.read_text(encoding="utf-8")


def test_every_disposition_is_on_the_page_with_its_reason_and_tests(page, database):
    from markupsafe import escape

    rows = database.sql("SELECT hypothesis, verdict, reason, test_ids FROM disposition").to_dicts()
    assert len(rows) == 5
    for row in rows:
        assert f'id="hypothesis-{row["hypothesis"]}"' in page
        assert str(escape(row["reason"])) in page
        for test in row["test_ids"]:
            assert f'id="test-{test}"' in page


def test_the_report_discloses_what_was_chosen_in_view_and_lists_every_known_reason(page):
    from markupsafe import escape

    first = page[page.index("What to know first") : page.index("</section>")]
    for reason in PRINTED.reasons:
        assert f'<li id="reason-{reason.number}">{escape(reason.text)}' in page
        assert (f'href="#reason-{reason.number}"' in first) == (reason.in_view or reason.after_run)
    assert 'href="#reasons"' in first
    assert "tuned" not in page[page.index("<main>") :]


def test_what_matches_is_folded_and_refusals_stand_before_the_comparison(page):
    """Outside of closed disclosures stand only cells that differ and numbers that do not simply match."""
    assert page.index('id="absent"') < page.index('id="differences"') < page.index('id="recheck"')
    rows = page[page.index('id="recheck-t"') :].split("</table>")[0]
    shown = set(re.findall(r'<span class="verdict [^"]*">([^<]+)</span>', rows))
    assert shown == {"inconsistent", "impossible", "false as printed", "another convention"}
    apart = page[page.index('id="differs"') : page.index('id="closer"')]
    folded = re.findall(
        r'<details class="differs"><summary>Table (\w+)\. [^<]*: (\d+) of (\d+)</summary>(.*?)</details>', apart, re.S
    )
    assert len({name for name, *_ in folded}) == len(folded) > 5
    for _, differ, total, rows in folded:
        assert rows.count("<tr>") == int(differ) + 1
        assert int(differ) <= int(total)
    assert apart.count("<table") == len(folded)
    for name in ("closer", "settled"):
        assert re.search(rf'<details data-rows="\d+" id="{name}">', page), name


def test_tables_refer_to_each_other_by_links_and_headings_name_them(page):
    assert '<a href="#table-Afloor">Table Afloor</a>' in page
    assert '<h3 id="table-Afloor">Table Afloor. Case A' in page
    assert "V<sub>1/μ</sub>" in page


def test_the_report_names_no_address_outside_itself(page):
    outside = [m for m in re.findall(r'(?:src|href|action|data)="([^"]+)"', page) if not m.startswith(("#", "data:"))]
    assert outside == []
    assert "http://www.w3.org" not in page.split("<body>")[0]
    assert "@import" not in page
    assert set(re.findall(r"url\(.", page)) == {"url(%"}  # clips inside a figure, by their names there


def test_internal_links_lead_somewhere(page):
    targets = set(re.findall(r'id="([^"]+)"', page))
    missing = set(re.findall(r'href="#([^"]+)"', page)) - targets
    assert missing == set()


@pytest.mark.slow
def test_two_builds_from_one_database_are_the_same_bytes(database):
    assert render_report(database) == render_report(database)


def test_a_hostile_string_is_text_everywhere_and_nothing_is_left_out():
    """Every text of a database is hostile; every table and three figures are on the page, those without data too."""
    from orledger.reports.tables.building import declared

    con = synthetic_db.filled(cases="b", b_seeds=1, gap_seeds=2, points=9, datasets=("diabetes", "yacht"))
    con.execute("UPDATE refusal SET reason = ?", [HOSTILE])
    con.execute("UPDATE cell SET name = ? || name", [HOSTILE])
    con.execute("UPDATE dataset SET origin = ?, target = ?", [HOSTILE, HOSTILE])
    con.execute("INSERT INTO setting VALUES ('r', 'a', ?, ?, false, ?)", [HOSTILE] * 3)
    text = render_report(synthetic_db.Adapter(con), title=HOSTILE, figures=FEW)
    assert "<script>alert" not in text
    assert text.count("<script>") == 1
    assert "&lt;script&gt;alert" in text
    assert [name for name in declared() if f'id="table-{name}"' not in text] == []
    assert [name for name in FEW if f'id="figure-{name}"' not in text] == []


@pytest.mark.parametrize(
    ("low", "high", "paper", "ours", "word"),
    [
        (0.945, 0.955, 0.95, 0.9549, AGREE),
        (0.945, 0.955, 0.95, 0.99, CLOSE),
        (0.945, 0.955, 0.95, 1.7, SAME_SIZE),
        (0.945, 0.955, 0.95, 3.0, APART),
        (0.0, 0.0, 0.0, 0.0, AGREE),
        (-0.5, 0.5, 0.0, 0.7, APART),
        (1.5, 2.5, 2.0, -2.0, APART),
    ],
)
def test_verdicts_of_a_comparison_with_a_printed_number(low, high, paper, ours, word):
    assert verdict(low, high, paper, ours) == word


def test_the_printed_tables_find_their_partners(audited_tables):
    """All but a handful of the paper's table cells have a number of ours to stand beside."""
    found = differences([*audited_tables.values()], PRINTED)
    tables = {d.table for d in found}
    assert {
        "A",
        "A16",
        "Astab",
        "Aport",
        "Acert",
        "Aladder",
        "Baudit",
        "Barms",
        "Bshift",
        "Bgap",
        "C",
        "CpairEI",
        "Ckappa",
        "Cinv",
    } <= tables
    partnered = [d for d in found if d.ours is not None and d.table != "Btail"]  # Btail lists other cells in every run
    assert len(partnered) >= 0.97 * sum(d.table != "Btail" for d in found)
    levels = [d for d in found if d.table == "Blevels"]
    assert len(levels) == 88
    assert all(d.verdict == AGREE for d in levels if d.column in ("n_c", "k"))


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), (3.0, "3"), (0.1234567, "0.123457"), (True, "true"), ("x", "x"), (1e300, "1e+300")]
)
def test_values_of_a_trace_read_well(value, text):
    assert number(value) == text


def test_slugs_are_ids():
    assert re.fullmatch(r"[A-Za-z0-9_-]+", slug("H1: a/b <c>"))


def test_a_comparison_is_written_as_a_page_and_as_tables(database, tmp_path):
    result = compare(database, database, (HOSTILE, "right"))
    text = comparison_html(result)
    assert "<script>alert" not in text
    assert "coincides bitwise" in text
    paths = comparison_tables(result, tmp_path)
    assert {p.suffix for p in paths} == {".tex", ".csv", ".md"}
    rows = paths[1].read_text().splitlines()[1:]
    assert {row.split("/")[0] for row in rows} == {"a", "b", "c"}
    assert {row.split(",")[-1] for row in rows} == {"1.0"}


@pytest.mark.slow
@pytest.mark.latex
def test_the_pdf_is_the_same_twice(tmp_path):
    latex = shutil.which("pdflatex")
    if latex is None:
        pytest.skip("pdflatex is not installed")
    from orledger.reports.report.pdf import write_pdf

    small = synthetic_db.filled(cases="b", b_seeds=1, gap_seeds=2, points=9, datasets=("diabetes", "yacht"))
    database = synthetic_db.Adapter(small)
    one, two = (
        write_pdf(database, tmp_path / f"{n}.pdf", latex=latex, figures=["Bp", "Bis"]).read_bytes() for n in "ab"
    )
    assert one[:5] == b"%PDF-"
    assert one == two


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_contrast_passes_in_light_and_dark():
    """WCAG AA: 4.5 to 1 for every ink on every ground of the style sheet."""
    from importlib.resources import files

    css = files("orledger.templates").joinpath("report.css").read_text()
    for scheme in re.findall(r":root \{([^}]*--paper[^}]*--good[^}]*)\}", css):
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", scheme))
        for ground in ("paper", "band"):
            for ink in ("ink", "soft", "link", "good", "bad", "mixed", "open"):
                a, b = sorted((luminance(colours[ink]), luminance(colours[ground])), reverse=True)
                assert (a + 0.05) / (b + 0.05) >= 4.5, (ink, ground)
