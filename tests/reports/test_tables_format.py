"""Number rules, typed cells and writers: expectations written by hand."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orledger import studies
from orledger.paper import symbols
from orledger.paper.prose import prose
from orledger.reports.tables import format as rules
from orledger.reports.tables import latex, plain_text, render, typst
from orledger.reports.tables.prose import vocabulary
from orledger.reports.tables.summaries import power_of_ten
from orledger.reports.tables.table import Column, Group, Row, Span, Table, TableError, empty
from orledger.reports.tables.values import (
    Absent,
    Blank,
    Count,
    Mark,
    Math,
    MedianIQR,
    Number,
    PValue,
    Range,
    Text,
    best,
    join,
)


@pytest.mark.parametrize(
    ("value", "style", "expected"),
    [
        (0.8612, rules.fixed(3), "0.861"),
        (-0.0004, rules.fixed(2), "−4.0·10⁻⁴"),  # not zero, so it must not print as zero
        (0.0, rules.fixed(3), "0"),  # a plain 0 is exact
        (-0.0, rules.fixed(3), "0"),
        (2.1e-29, rules.fixed(3).bound(), "<0.001"),
        (0.0006, rules.fixed(3).bound(), "0.001"),
        (0.0, rules.fixed(3).bound(), "0"),
        (-2.1e-29, rules.fixed(3).bound(), "−2.1·10⁻²⁹"),  # below the last digit would say the wrong thing
        (6e-11, rules.percent(3).bound(), "<0.001%"),
        (1.000000000010599, rules.ratio(3), "1+1.1·10⁻¹¹"),
        (0.9999999999999994, rules.ratio(3), "1−5.6·10⁻¹⁶"),
        (1.0034227793, rules.ratio(3), "1.0034"),
        (0.9996, rules.ratio(3), "0.99960"),
        (1.0, rules.ratio(3), "1"),
        (0.8539146763, rules.ratio(3), "0.854"),
        (2765.6, rules.ratio(3), "2766"),
        (61896.2, rules.fixed(0), "61896"),
        (1.234e7, rules.fixed(2), "1.23·10⁷"),
        (0.99996, rules.significant(3), "1.00"),
        (9996.0, rules.significant(3), "9996"),  # digits before the point are never rounded away
        (123456.0, rules.significant(3), "1.23·10⁵"),
        (0.00123, rules.significant(2), "0.0012"),
        (0.000123, rules.significant(2), "1.2·10⁻⁴"),
        (0.0, rules.significant(3), "0"),
        (4.04e-4, rules.scientific(2), "4.0·10⁻⁴"),
        (1.0, rules.scientific(2), "1.0"),
        (9.96, rules.scientific(2), "1.0·10¹"),
        (9018, rules.INTEGER, "9,018"),
        (0.658, rules.percent(1), "65.8%"),
        (1.357, rules.significant(3).times(), "1.36×"),
        (0.075, rules.fixed(3).signed(), "+0.075"),
        (0.0, rules.fixed(3).signed(), "0"),  # an exact tie
        (-2.5, rules.fixed(1).signed(), "−2.5"),
        (14900.0, rules.SHORT, "1.49·10⁴"),
        (0.05, rules.SHORT, "0.05"),
    ],
)
def test_numbers_follow_the_rules(value, style, expected):
    assert render.plain(Number(value, style)) == expected


@pytest.mark.parametrize(
    ("p", "expected"), [(1.0, "1.00"), (0.125, "0.12"), (0.0998, "0.10"), (0.0312, "0.031"), (0.001953125, "0.0020"), (0.00042, "4.2·10⁻⁴")]
)  # fmt: skip
def test_p_values_are_never_printed_as_zero(p, expected):
    assert render.plain(PValue(p, 1e-9)) == expected


def test_a_p_value_at_its_floor_is_marked():
    assert render.plain(PValue(2**-9, 2**-9)) == "0.0020†"
    assert not PValue(0.01, 2**-9).at_floor


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_cannot_be_printed(bad):
    with pytest.raises(rules.FormatError, match="absent"):
        render.plain(Number(bad, rules.fixed(2)))


def test_latex_of_numbers_is_math_with_a_power_of_ten():
    assert latex.render(Number(-1.234e-7, rules.scientific(3))) == r"$-1.23\!\cdot\!10^{-7}$"
    assert latex.render(Number(9018, rules.INTEGER)) == r"$9{,}018$"
    assert latex.render(Number(0.5, rules.percent(0), bold=True)) == r"$\mathbf{50\%}$"
    assert latex.render(MedianIQR(0.91, 0.61, 1.71, rules.fixed(2))) == "$0.91$ [$0.61$, $1.71$]"
    assert latex.render(PValue(0.001953125, 0.001953125)) == r"$0.0020$$^{\dagger}$"


def test_levels_are_powers_of_ten():
    plain = [render.plain(power_of_ten(v)) for v in (0.0, 1e-4, 3e-4, 1e-2, 0.25, 1.0, 500.0, 1.49e4)]
    assert plain == ["0", "10⁻⁴", "3·10⁻⁴", "10⁻²", "0.25", "1", "500", "1.49·10⁴"]


def test_best_marks_every_equal_winner_and_never_an_absent_cell():
    cells = best(
        [Number(1, rules.INTEGER), Number(1, rules.INTEGER), Number(2, rules.INTEGER), Absent("refused")],
        [1.0, 1.0, 2.0, None],
    )
    assert [c.bold for c in cells] == [True, True, False, False]


def test_prose_keeps_values_typed_and_words_escaped():
    sentence = prose(
        "{{ k }} of {{ n }} at {{ sym.lambda2 }} & 100%{% if more %}, {{ more }}{% endif %}.",
        k=Count(3, 7),
        n=1200,
        more=Text("a_b"),
    )
    assert latex.render(sentence) == r"$3/7$ of 1,200 at $\lambda_2$ \& 100\%, a\_b."
    assert render.inline_html(sentence) == "3/7 of 1,200 at <i>λ₂</i> &amp; 100%, a_b."


def test_formulas_have_real_subscripts_in_html_and_mathematics_in_latex():
    sentence = prose("{{ sym.m_def }} & {{ sym.rho_oc }}")
    assert render.inline_html(sentence) == "<i>m = ρ/ρ<sub>oc</sub></i> &amp; <i>ρ<sub>oc</sub></i>"
    assert r"$\rho_{\mathrm{oc}}$" in latex.render(sentence)
    assert all("_" not in render.inline_html(v) for v in vars(symbols).values() if isinstance(v, Math))


def test_plain_words_get_their_formulas_and_tables_back_and_stay_escaped():
    words = vocabulary(studies.installed()).typed("m = 2 ρ_oc, see Table Afloor <b> and Table Nowhere")
    assert render.plain(words) == "m = 2 ρ_oc, see Table Afloor <b> and Table Nowhere"
    assert render.inline_html(words, links=True) == (
        'm = 2 <i>ρ<sub>oc</sub></i>, see <a href="#table-Afloor">Table Afloor</a> &lt;b&gt; and Table Nowhere'
    )


def test_a_reference_to_a_table_is_its_number_in_latex_a_link_in_a_page_and_its_name_elsewhere():
    sentence = prose("see {{ table('Afloor') }}.")
    assert r"\ref{tab:Afloor}" in latex.render(sentence)
    assert r"\else Afloor\fi" in latex.render(sentence), "a table alone in a paper names its neighbour"
    assert render.inline_html(sentence, links=True) == 'see <a href="#table-Afloor">Table Afloor</a>.'
    assert render.inline_html(sentence) == render.markdown_inline(sentence) == "see Table Afloor."


def test_the_name_of_a_table_stands_in_its_caption():
    assert r"\caption[{T. A table}]{\textbf{T.} Caption.}" in latex.table(sample())
    assert '<p class="caption" id="caption-T"><strong>Table T.</strong> Caption.</p>' in render.table_html(sample())
    assert render.table_markdown(sample()).startswith("## Table T. A table")


def test_a_dagger_in_a_caption_is_explained_below():
    caption = prose("p {{ p }}.", p=PValue(0.25, 0.25))
    plain = Table(caption, (Column("a", Text("a")),), (Group((Row("r", (Text("x"),)),)),), name="T", title="t")
    assert "smallest p" in render.plain(plain.footnotes()[0])


def test_long_names_break_at_underscores_in_wrapped_columns():
    columns = (Column("a", Text("a"), 1.0), Column("b", Text("b"), "l"))
    text = latex.table(Table(Text(""), columns, (Group((Row("r", (Text("a_b"), Text("c_d"))),)),), name="T", title="t"))
    assert r"a\_\allowbreak{}b & c\_d" in text


def sample() -> Table:
    columns = (Column("arm", Text("arm"), "l"), Column("score", Text("score"), "r"), Column("p", Math("p", "p"), "r"))
    rows = (
        Row("one", (Text("one"), MedianIQR(2.5, 1.0, 3.0, rules.fixed(2)), PValue(0.25, 0.25))),
        Row("two", (Text("two"), Absent("the arm refused"), Blank())),
        Row(
            "three",
            (
                Text("three"),
                join(Range(1.0, 2.0, rules.fixed(1)), Mark("‡"), names=("", "")),
                Absent("too few seeds"),
            ),
        ),
    )
    return Table(
        Text("Caption."),
        columns,
        (Group(rows, Text("all")),),
        (Span(1, 2, Text("span")),),
        database="abc",
        queries=("SELECT 1",),
        name="T",
        title="A table",
    )


def test_absent_cells_are_dashes_with_their_reasons_below():
    text = latex.table(sample())
    assert "two & --$^{a}$ &  " in text
    assert "Not shown: \\emph{a} the arm refused; \\emph{b} too few seeds." in text
    assert r"\cmidrule(lr){2-3}" in text
    assert "smallest p" in text
    assert "too few units" in text


def test_csv_begins_with_its_header_and_has_full_precision_components_and_empty_absences():
    rows = list(csv.DictReader(io.StringIO(render.table_csv(sample()))))
    assert rows[0] == {
        "group": "all", "row": "one", "arm": "one", "score": "2.5", "score_q1": "1.0", "score_q3": "3.0", "score_low": "", "score_high": "",
        "p": "0.25", "p_floor": "0.25",
    }  # fmt: skip
    assert rows[1]["score"] == ""
    assert (rows[2]["score_low"], rows[2]["score_high"]) == ("1.0", "2.0")


def test_csv_writes_noise_levels_as_numbers_and_powers_in_ascii():
    level = power_of_ten(3e-4)
    table = Table(
        Text(""),
        (Column("rel noise", Text("x")),),
        (Group((Row("r", (level,)),), Text("16² cells, 10⁻³")),),
        name="T",
        title="t",
    )
    assert render.table_csv(table) == 'group,row,rel_noise\n"16^2 cells, 10^-3",r,0.0003\n'
    assert render.plain(level) == "3·10⁻⁴"


def test_every_format_carries_query_and_hash():
    for text in (
        latex.table(sample()),
        render.table_metadata(sample()),
        render.table_markdown(sample()),
        render.page(sample()),
        typst.table(sample()),
    ):
        assert "SELECT 1" in text
        assert "abc" in text
    assert "Database abc" in plain_text.table(sample())


def test_a_reference_to_a_table_keeps_the_space_behind_it_in_latex():
    """TeX drops a space after a control word: Table 3over the floor."""
    sentence = prose("dispersion of {{ table('Astab') }} over the floor")
    assert latex.render(sentence).endswith(r"\else Astab\fi{} over the floor")


def test_plain_text_is_aligned_and_says_why_a_cell_is_absent():
    lines = plain_text.table(sample()).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("---"))
    assert lines[at - 1].split() == ["arm", "score", "p"]
    assert len(lines[at]) >= max(len(line) for line in lines[at + 1 : at + 5])
    assert any(line.startswith("two") and "–(a)" in line for line in lines)
    assert any("a the arm refused" in line for line in lines)


@given(st.text(max_size=60))
def test_any_text_is_one_string_of_typst(text):
    """What stands between the quotation marks has no quotation mark or line break of its own, and no backslash alone."""
    out = typst.literal(text)
    assert re.fullmatch(r'"(?:[^"\\\n]|\\\\|\\")*"', out)


def test_html_names_the_reason_and_scopes_its_headers():
    text = render.table_html(sample())
    assert '<span class="absent" title="the arm refused">–</span><sup>a</sup>' in text
    assert text.count('scope="col"') == 3
    assert 'scope="colgroup" colspan="2"' in text


def test_tables_that_are_put_together_wrongly_are_refused():
    with pytest.raises(TableError, match="2 cells for 1 columns"):
        Table(Text(""), (Column("a", Text("a")),), (Group((Row("r", (Text("x"), Text("y"))),)),), name="T", title="t")
    with pytest.raises(TableError, match="twice"):
        Table(
            Text(""),
            (Column("a", Text("a")),),
            (Group((Row("r", (Text("x"),)), Row("r", (Text("y"),)))),),
            name="T",
            title="t",
        )


def test_an_empty_table_says_why():
    assert "Nothing to show: no cells" in render.plain(empty("T", "Title", "no cells").caption)


def test_dots_in_a_reason_are_set_by_latex_and_not_spelled_as_a_code_point():
    assert latex.escape("eta = … is below") == r"eta = \ldots{} is below"
