"""Text from the database is data: nothing in it reaches LaTeX, HTML, Markdown or a spreadsheet with a meaning of its own."""

import csv
import io
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
import synthetic_db
from hypothesis import example, given
from hypothesis import strategies as st

from orledger.reports.generic import slug
from orledger.reports.tables import latex, render
from orledger.reports.tables.building import build_tables
from orledger.reports.tables.values import Text
from orledger.reports.tables.writing import write_tables

HOSTILE = "\\input{/etc/passwd} 100% a_b & c <script>alert('x')</script> \"q\" $x^2$ #1 ~ `z` | [l](u) {y}\nnext\x00 =1+1 λ 中"
FORMULA = '=HYPERLINK("http://example.org")'


@pytest.fixture(scope="module")
def built():
    """Tables of a database in which every text a user or a file could supply is hostile."""
    con = synthetic_db.filled(a_seeds=2, b_seeds=1, c_seeds=2, gap_seeds=2, points=9)
    text = HOSTILE.replace("\x00", "")
    for old, new in (("diabetes", text), ("energy", FORMULA), ("branin", text)):
        for column in ("dataset", "benchmark"):
            con.execute(
                "UPDATE cell SET keys = map_from_entries(list_transform(map_entries(keys), "
                "lambda e: {'key': e.key, 'value': CASE WHEN e.key = $c AND e.value = $o THEN $n ELSE e.value END}))",
                {"c": column, "o": old, "n": new},
            )
        con.execute("UPDATE cell SET name = replace(name, $o, $n)", {"o": old, "n": new})
    con.execute("UPDATE refusal SET reason = $n", {"n": text})
    con.execute("UPDATE dataset SET target = $n, origin = $n", {"n": text})
    con.execute(
        "UPDATE cell SET keys = map_from_entries(list_transform(map_entries(keys), lambda e: {'key': e.key, 'value': replace(e.value, 'ulp', $n)}))",
        {"n": text},
    )
    con.execute("UPDATE cell SET state = 'failed', error = $n WHERE name LIKE '%/iid/0/0.25'", {"n": text})
    return build_tables(synthetic_db.Adapter(con))


@given(st.text())
@example("my_results_2024")
@example("_")
def test_the_name_of_any_study_is_a_name_in_latex(text):
    """A table called after a file such as my_results.csv has a label, a file and a caption that LaTeX sets."""
    made = slug(text) + "-results"
    assert latex.name(made) == made
    assert re.search(r"(?<!\\)_", latex.escape(made)) is None


@pytest.mark.parametrize("text", ["[0, 1] scaled", "*ours*", "\u9ad8\u65af"])
def test_a_text_at_the_start_of_a_row_is_no_option_of_the_line_before(text):
    """After a line break LaTeX reads a bracket as a length and a star as a command."""
    assert latex.first(latex.escape(text))[0] not in "[*"


def test_the_hostile_text_is_really_there(built):
    assert any("passwd" in token.text for t in built for v in t.values() for token in v.tokens())


def test_latex_has_no_command_that_came_from_data(built):
    for t in built:
        text = latex.table(t)
        body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
        assert "\\input" not in body
        assert "\\textbackslash{}input" in body or "passwd" not in body
        assert not re.search(r"(?<!\\)%", body)
        assert all(ord(c) < 256 for c in body)


def test_comments_in_latex_cannot_be_left(built):
    for t in built:
        head = latex.table(t).split("\\begin{table}")[0]
        assert all(line.startswith("%") for line in head.splitlines() if line)


def test_a_comment_in_latex_is_a_line_of_ascii():
    """Every other character is a question mark, also those of one byte that end a line or belong to no encoding."""
    assert latex.comment("a\x7fb\x80\x85c\xa0\xe9\xff\u4e2d~\tz") == "% a?b?\n% c????~?z"
    assert latex.comment("one\ntwo\rthree") == "% one\n% two\n% three"


def test_signs_that_latex_joins_stay_apart():
    assert latex.escape("--- '' ,, ,") == "-{}-{}- '{}' ,{}, ,"


class Tags(HTMLParser):
    """Collects the tags and attributes of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {k for k, _ in attrs}


def test_html_has_only_our_own_tags(built):
    parser = Tags()
    for t in built:
        parser.feed(render.page(t))
    assert "script" not in parser.tags
    assert parser.tags <= {
        "html",
        "meta",
        "title",
        "style",
        "figure",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "sup",
        "sub",
        "i",
        "strong",
        "em",
        "code",
        "span",
        "div",
        "figcaption",
        "p",
        "details",
        "summary",
        "pre",
    }
    assert parser.attributes <= {
        "aria-labelledby",
        "lang",
        "charset",
        "name",
        "content",
        "class",
        "id",
        "scope",
        "colspan",
        "data-sort",
        "title",
    }


def test_markdown_keeps_its_columns_and_no_raw_html(built):
    for t in built:
        text = render.table_markdown(t).split("\nDatabase `")[0]
        assert "<script" not in text
        rows = [line for line in text.splitlines() if line.startswith("| ")]
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {len(t.columns) + 1}
        assert not re.search(r"(?<!\\)\[l\]", text)


def test_csv_cells_are_never_formulas(built):
    seen = 0
    for t in built:
        for row in csv.reader(io.StringIO(render.table_csv(t))):
            for value in row:
                seen += value.startswith("'=")
                if value[:1] in "=+@" and value:
                    pytest.fail(f"{t.name}: {value!r}")
                if value.startswith("-"):
                    float(value)
    assert seen


@given(st.text(max_size=40))
@example("".join(latex.SPECIAL))  # every character that has a command, not only those that are drawn
def test_any_text_is_escaped_to_balanced_harmless_latex(text):
    out = latex.escape(text)
    assert "\n" not in out
    stripped = re.sub(r"\\[{}$&%#_]", "", out)
    for command in re.findall(r"\\([A-Za-z]+)", stripped):
        assert command in {"textbackslash", "textasciitilde", "textasciicircum", "textasciigrave", "ensuremath", "dagger", "ddagger", "times", "cdot", "le", "ge", "pm", "to",
                           "kappa", "lambda", "sigma", "rho", "eta", "mu", "alpha", "varepsilon", "Delta", "S", "surd", "ldots", "leftrightarrow",
                           *["beta", "gamma", "delta", "zeta", "theta", "iota", "nu", "xi", "pi", "varsigma", "tau", "upsilon", "varphi", "chi", "psi", "omega"],
                           *["Gamma", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega", "infty", "approx", "neq", "in", "circ"]}  # fmt: skip
    depth = 0
    for c in stripped:
        depth += {"{": 1, "}": -1}.get(c, 0)
        assert depth >= 0
    assert depth == 0


@given(st.text(max_size=40))
def test_any_text_survives_html_without_markup(text):
    parser = Tags()
    parser.feed(render.inline_html(Text(text)))
    assert not parser.tags


@pytest.mark.latex
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_hostile_tables_compile(built, tmp_path):
    write_tables(built, tmp_path, ["tex"], built[0].database)
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "/etc/passwd)" not in done.stdout  # pdflatex names every file it opens
    assert "(/etc" not in done.stdout
