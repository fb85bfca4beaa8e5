"""Print that papers seldom have: numbers beyond all size, short forms of LaTeX, tables inside tables, files that go on."""

from __future__ import annotations

import pytest

from orledger.audit.recheck.automatic.checking import recheck_document
from orledger.audit.recheck.drafting import draft
from orledger.audit.recheck.inventory import instances
from orledger.audit.recheck.reading import opening
from orledger.audit.recheck.reading.latex_text import plain
from orledger.audit.recheck.reading.numbers import normal, numbers_in, read_entry, read_number
from orledger.audit.recheck.reading.opening import read_document
from orledger.errors import UsageError


@pytest.fixture
def document(tmp_path):
    def read(text: str, name: str = "paper.md"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return read_document(tmp_path / name)

    return read


@pytest.fixture
def latex(document):
    return lambda body: document("\\begin{document}\n" + body + "\n\\end{document}\n", "paper.tex")


@pytest.mark.parametrize(
    ("text", "value", "last"),
    [("10^{-4}", 1e-4, -4), ("< 10^{3}", 1e3, 3), ("10^{- 2}", 1e-2, -2), ("2e-0003", 2e-3, -3)],
)
def test_a_bare_power_of_ten_is_a_number(text, value, last):
    found = read_number(text)
    assert found is not None
    assert (found.value, found.last) == (value, last)


@pytest.mark.parametrize("text", ["10^{400}", "10^{-400}", "1e400", "3 × 10^{999}", "1e" + "9" * 20, "9" * 400])
def test_what_double_precision_does_not_hold_is_no_number(text):
    assert read_number(text) is None
    assert [n.value for n in numbers_in(f"of {text} we took 5")] == [5.0]


def test_a_number_beyond_all_size_stops_no_check(document):
    paper = document("There are 10^{400} games. We saw 5 + 18 = 23 of them.\n\n| a | b |\n|---|---|\n| 1e999 | 2 |\n")
    (finding,) = recheck_document(paper)
    assert finding.rule == "equation"
    assert finding.verdict.good
    assert 'printed = "23"' in draft(paper, [finding])


@pytest.mark.parametrize(
    ("text", "values"),
    [("groups 3-5", [3.0, 5.0]), ("from [21,135] on", [21.0, 135.0]), ("the x-1 rule", []), ("groups 3-1e400", [3.0])],
)
def test_ends_are_numbers_and_names_are_none(text, values):
    assert [n.value for n in numbers_in(text)] == values


@pytest.mark.parametrize(
    ("text", "form"),
    [("12/40", "fraction"), ("a [b, c]", "words"), ("one to many", "words"), ("3 to 5", "range"), ("0.5 [0.1, 0.9]", "interval")],
)  # fmt: skip
def test_a_cell_is_what_all_of_it_says(text, form):
    assert read_entry(text).form == form


def test_numbers_of_a_draft_are_p_values_only_after_a_p_of_its_own(document):
    paper = document("We had p = 0.03 first. Then P < 0.001 came. Group 3 had none. It went up 4 times.\n")
    lines = [line for line in draft(paper, []).splitlines() if "id = " in line]
    kinds = {line.split('printed = "')[1].split('"')[0]: line.split('kind = "')[1].split('"')[0] for line in lines}
    assert kinds == {"0.03": "p-value", "0.001": "p-value", "3": "count", "4": "count"}


def test_a_draft_leaves_out_cells_without_one_number(document):
    table = '<table><tr><th>a</th><th>b</th></tr><tr><td rowspan="2">one</td><td>3/7</td></tr><tr><td>words</td></tr></table>'
    text = draft(document(table, "paper.html"), [])
    assert '"one" = ["3/7"]  # 1 UNCOVERED' in text
    assert "words" not in text
    assert "[table." not in draft(document("<table><tr><th>a</th></tr><tr><td>none</td></tr></table>", "w.html"), [])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (r"\frac12", "1/2"),
        (r"\frac 34", "3/4"),
        (r"\frac\alpha2", "α/2"),
        (r"\frac{a+1}2", "(a+1)/2"),
        ("``so''", '"so"'),
        (r"as \citet[p.~5]{a2019} says", "as  says"),
        (r"here\footnote{Of 5.} too", "here Of 5. too"),
        (r"\log(3)", "log(3)"),
        (r"\log 3", "log 3"),
        (r"\cmidrule(lr){2-3}7", "7"),
        (r"\cmidrule{2-3}7", "7"),
        (r"\begin{minipage}[t]{0.5\textwidth}8\end{minipage}", " 8 "),
        (r"\begin{math}9\end{math}", "9"),
    ],
)
def test_latex_says_in_words(source, words):
    assert plain(source, 0, len(source), {}).text == words


def test_a_bibliography_holds_no_sentences(latex):
    found = latex("We saw 5 runs.\n\\begin{thebibliography}{9}\nA. B. 2019. Pages 3--4.\n\\end{thebibliography}")
    assert [s.text.strip() for s in found.sentences] == ["We saw 5 runs."]
    endless = latex("We saw 5 runs.\n\\begin{thebibliography}{9}\nA. B. 2019.")
    assert [s.text.strip() for s in endless.sentences] == ["We saw 5 runs."]


def test_two_tables_of_one_float_are_its_parts(latex):
    one = "\\begin{tabular}[t]{lr}\na & 1 \\\\\nb & 2 \\\\\n\\end{tabular}\n"
    found = latex("\\begin{table}\\caption{Both.}\\label{tab:x}\n" + one + one + "\\end{table}")
    assert [g.name for g in found.grids] == ["tab:x part 1", "tab:x part 2"]


def test_a_table_inside_a_cell_is_one_cell(latex):
    inner = "\\begin{minipage}{1cm} 3 \\\\ 4 \\end{minipage}"
    (grid,) = latex(f"\\begin{{tabular}}{{lr}}\na & b \\\\\n{inner} & 2 \\\\\n\\end{{tabular}}").grids
    assert [[cell.text for cell in row] for row in (*grid.header, *grid.rows)][-1][-1] == "2"
    assert grid.width == 2


def test_cells_below_a_span_that_has_ended_are_empty(latex):
    rows = "\\multirow{2}{*}{one} & 1 \\\\\n & 2 \\\\\n & 3 \\\\\n"
    (grid,) = latex(f"\\begin{{tabular}}{{lr}}\nname & n \\\\\n\\midrule\n{rows}\\end{{tabular}}").grids
    assert [row[0].text for row in grid.rows] == ["one", "one", ""]


def test_a_long_table_without_a_head_has_its_rows(latex):
    (grid,) = latex("\\begin{longtable}{lr}\n\\endfoot\na & 1 \\\\\nb & 2 \\\\\n\\end{longtable}").grids
    assert [cell.text for cell in grid.rows[-1]] == ["b", "2"]


def test_operators_and_macros_without_a_body_are_read_over(latex):
    found = latex("\\DeclareMathOperator{\\rank}{rank}\\newcommand\\odd\nThe \\rank{} is 5.")
    assert found.sentences[-1].text.strip().endswith("rank is 5.")


def test_groups_too_deep_to_be_read_are_told(latex):
    with pytest.raises(UsageError, match="groups inside groups, too deep to be read"):
        latex("\\frac{" * 3000 + "1" + "}" * 3000)


def test_includes_that_go_too_deep_are_noted(tmp_path):
    for k in range(40):
        (tmp_path / f"f{k}.tex").write_text(f"We saw {k} runs.\n\n\\input{{f{k + 1}}}\n")
    (note,) = [n for n in read_document(tmp_path / "f0.tex").notes if "deep" in n]
    assert note.endswith("files deep and was not read")


@pytest.mark.parametrize("name", ["gone.tex", "gone.md", "gone.csv"])
def test_a_file_that_is_not_there_is_named(tmp_path, name):
    with pytest.raises(UsageError, match=f"{name} cannot be read: No such file"):
        read_document(tmp_path / name)


def test_a_head_of_plain_cells_and_spans_of_three_rows_are_read_in_html(document):
    (grid,) = document(
        "<table><thead><tr><td>name</td><td>n</td></tr><tr><td>of</td><td>runs</td></tr></thead>"
        '<tr><td rowspan="3">one</td><td><u>1</u></td></tr> <tr><td>2</td></tr><tr><td>3</td></tr></table>',
        "paper.html",
    ).grids
    assert [[c.text for c in row] for row in grid.header] == [["name", "n"], ["of", "runs"]]
    assert [[c.text for c in row] for row in grid.rows] == [["one", "1"], ["one", "2"], ["one", "3"]]
    assert grid.rows[0][1].underlined


def test_cells_outside_of_rows_make_a_row(document):
    (grid,) = document("<table><td>a</td><td>1</td><tr><td>b</td><td>2</td></tr></table>", "paper.html").grids
    assert [[c.text for c in row] for row in (*grid.header, *grid.rows)] == [["a", "1"], ["b", "2"]]


def test_raised_points_are_lowered_in_tables_too(document):
    (grid,) = document("| a | b |\n|---|---|\n| 0·25 | 0·5 |\n| 0·75 | 12·5 |\n").grids
    assert [[c.text for c in row] for row in grid.rows] == [["0.25", "0.5"], ["0.75", "12.5"]]


def test_a_row_is_named_by_its_first_words_even_behind_a_gap(document):
    (grid,) = document("| a | b | n |\n|---|---|---|\n| - | one | 3 |\n").grids
    assert grid.label(0) == "one"


def test_what_is_too_long_is_refused_or_read_in_part(document, monkeypatch):
    monkeypatch.setattr(opening, "LARGEST", 10)
    monkeypatch.setattr(opening, "HEAD", 12)
    with pytest.raises(UsageError, match=r"paper\.md has 21 bytes"):
        document("There are 21 letters.")
    found = document("a,b\n1,2\n3,4\n5,6\n", "t.csv")
    assert found.notes == ("t.csv: the first 3 lines were read; the file goes on",)
    assert [[c.text for c in row] for row in found.grids[0].rows] == [["1", "2"], ["3", "4"]]


def test_a_field_beyond_what_a_table_holds_is_told_with_its_line(document):
    with pytest.raises(UsageError, match=r"t\.csv, line 2: field larger than field limit"):
        document("a,b\n" + "x" * 140_000 + ",2\n", "t.csv")


def test_a_changed_digit_stands_where_the_number_stood(document):
    text = "We had 10^{4} and − 5 or 3 × 10^{-2}, 30 % of .5, p < .001, 1,413 in [21,135] and 10²³."
    paper = document(text + "\n\n| a | b |\n|---|---|\n| x | 3.1 ± 0.2 |\n| y | 0.5 [0.1, 0.9] |\n")
    printed = [instance.number.text.lstrip("< ") for instance in instances(paper)]
    assert printed == ["10^{4}", "- 5", "3 × 10^{-2}", "30 %", ".5", ".001", "1,413", "21", "135", "10^{23}", "3.1", "0.2", "0.5", "0.1", "0.9"]  # fmt: skip
    for instance, number in zip(instances(paper), printed, strict=True):
        whole = normal(
            instance.sentence if instance.group[0] == "sentence" else paper.grids[0].rows[instance.position[0]][1].text
        )
        assert whole[: instance.number.end].endswith(number)


def test_a_folder_is_no_paper(tmp_path):
    (tmp_path / "paper.tex").mkdir()
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        read_document(tmp_path / "paper.tex")


def test_a_table_that_does_not_say_its_columns_has_its_rows(latex):
    (grid,) = latex("\\begin{tabular}\na & 1 \\\\\nb & 2 \\\\\n\\end{tabular}").grids
    assert [cell.text for cell in grid.rows[-1]] == ["b", "2"]


def test_marks_alone_are_no_sentence(document):
    assert [s.text for s in document("**\n\nWe had 5.\n").sentences] == ["We had 5."]
