"""Papers as data: LaTeX with its includes, macros and spans, Markdown, HTML and CSV, with file and line."""

import pytest

from orledger.audit.recheck.reading.opening import read_document
from orledger.errors import UsageError

LATEX = r"""\documentclass{article}
\newcommand{\best}[1]{\textbf{#1}}
\newcommand{\ours}[1][two]{\textsc{Ours #1}}
\def\half{0.50}
% a comment with 99 numbers
\begin{document}
\begin{abstract}
We win on 6 of 7 seeds (86\%). A loss follows.
\end{abstract}
\section{Results}
In Table~\ref{tab:x} the share is \half{} at $1.2\times10^{-3}$,
and the count is $9{,}018$.
\input{parts/table}
\appendix
\section{More}
See Fig. 3 and more.
\end{document}
"""
TABLE = r"""\begin{table}
\caption{Means over \textbf{seven} seeds.}\label{tab:x}
\begin{tabularx}{\linewidth}{@{}lX*{2}{r}@{}}
\toprule
& & \multicolumn{2}{c}{error $\downarrow$} \\
\cmidrule(lr){3-4}
Task & Arm & mean & \shortstack{me\\dian} \\
\midrule
\multirow{2}{*}{One} & \ours & \best{0.12} & $0.10$ \\[2pt]
 & EI \& UCB & $0.20$ & -- \\
\midrule
Two & \ours[three] & \underline{1,413} & $-3.1 \pm 0.2$ \\
\bottomrule
\end{tabularx}
\end{table}
"""


@pytest.fixture
def paper(tmp_path):
    (tmp_path / "paper.tex").write_text(LATEX)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "table.tex").write_text(TABLE)
    return read_document(tmp_path / "paper.tex")


def test_sentences_know_their_place_their_file_and_their_line(paper):
    found = {s.text: (s.place, s.file, s.line) for s in paper.sentences}
    assert found["We win on 6 of 7 seeds (86%)."] == ("abstract", "paper.tex", 8)
    assert found["See Fig. 3 and more."] == ("appendix, More", "paper.tex", 16)
    sentence = next(s for s in paper.sentences if "9,018" in s.text)
    assert sentence.text == "In Table @ the share is 0.50 at 1.2×10^{-3}, and the count is 9,018."
    assert sentence.line_at(sentence.text.index("9,018")) == 12
    assert found["Means over seven seeds."] == ("caption of table tab:x", "parts/table.tex", 2)
    assert not any("99" in text for text in found)


def test_a_table_keeps_spans_marks_blocks_and_lines(paper):
    (grid,) = paper.grids
    assert (grid.name, grid.caption, grid.file, grid.line) == ("tab:x", "Means over seven seeds.", "parts/table.tex", 3)
    assert [grid.heading(j) for j in range(4)] == ["Task", "Arm", "error ↓ mean", "error ↓ me dian"]
    assert [grid.label(i) for i in range(3)] == ["One Ours two", "One EI & UCB", "Two Ours three"]
    assert grid.blocks == (0, 0, 1)
    assert grid.rows[0][2].bold
    assert not grid.rows[1][2].bold
    assert grid.rows[2][2].underlined
    assert grid.rows[2][2].entry.main.value == 1413
    assert grid.rows[2][3].entry.spread.value == 0.2
    assert grid.rows[1][3].entry.form == "missing"
    assert grid.rows[1][2].line == 10
    assert (1, 0) not in [(i, j) for i, j, _ in grid.cells()], "a copy made for a span is not printed twice"


def test_what_is_included_from_elsewhere_is_refused_and_cycles_end(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.tex").write_text("The count is 42.")
    (tmp_path / "in" / "paper.tex").write_text(
        "\\begin{document}\\input{../secret}\n\\input{paper}\n\\input{nowhere}\nDone with 3.\\end{document}"
    )
    paper = read_document(tmp_path / "in" / "paper.tex")
    assert not any("42" in s.text for s in paper.sentences)
    assert [note.split(": ")[1].split(" ")[0] for note in paper.notes] == ["../secret", "paper", "nowhere"]


def test_a_paper_compiled_from_the_folder_above_is_read(tmp_path):
    """Inclusions named from the repository's root, and from the folder of the file that includes."""
    for folder in ("manuscript/sections", "manuscript/sections/deep"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "manuscript" / "main.tex").write_text(
        "\\begin{document}\n\\input{manuscript/sections/one}\n\\input{other/two}\n\\end{document}"
    )
    (tmp_path / "manuscript" / "sections" / "one.tex").write_text("The first is 41.\n\\input{deep/inner}\n")
    (tmp_path / "manuscript" / "sections" / "deep" / "inner.tex").write_text("The second is 42.\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "two.tex").write_text("The third is 43.\n")
    paper = read_document(tmp_path / "manuscript" / "main.tex")
    text = " ".join(s.text for s in paper.sentences)
    assert "41" in text
    assert "42" in text
    assert "43" not in text, "what lies outside the paper's folder is not read, whoever names it"
    assert [n.split(" ", 1)[1] for n in paper.notes] == ["other/two was not found"]


LONG = r"""\begin{document}
\begin{longtable}{lrr}
\caption{\label{tab:long}Air over three years.}\tabularnewline
\toprule
\multicolumn{1}{l}{} & \multicolumn{2}{c}{Target} \\
\cmidrule(lr){2-3}
 & 1 & 2 \\
\midrule
\endfirsthead
\multicolumn{3}{c}{continued} \\
 & 1 & 2 \\
\midrule
\endhead
\bottomrule
\multicolumn{3}{r}{see the next page} \\
\endfoot
north & 35.0 & 25.0 \\
south & 70.0 & 50.0 \\
\end{longtable}
\end{document}
"""


@pytest.mark.parametrize("pages", [True, False])
def test_a_long_table_has_its_caption_and_the_heads_of_further_pages_beside_its_rows(tmp_path, pages):
    text = LONG
    if not pages:
        text = text[: text.index("\\endfirsthead")] + text[text.index("north") :]
    (tmp_path / "p.tex").write_text(text)
    (grid,) = read_document(tmp_path / "p.tex").grids
    assert [[c.text for c in row] for row in grid.rows] == [["north", "35.0", "25.0"], ["south", "70.0", "50.0"]]
    assert grid.heading(1) == "Target 1"
    assert "Air over three years" in grid.caption


def test_macros_that_double_themselves_end(tmp_path):
    text = "".join(f"\\newcommand{{\\m{chr(97 + i)}}}{{\\m{chr(98 + i)}\\m{chr(98 + i)}}}\n" for i in range(22))
    (tmp_path / "p.tex").write_text(text + "\\begin{document}\n\\ma\nThe end is 5.\n\\end{document}")
    assert read_document(tmp_path / "p.tex").sentences[-1].text.endswith("The end is 5.")


@pytest.mark.parametrize(
    "broken",
    [
        "\\begin{tabular}{l",
        "\\begin{tabular}{ll} 1 & 2 \\\\",
        "\\newcommand{\\x}[2]{#1#3} \\x",
        "\\caption{open",
        "{{{",
        "\\",
        "",
    ],
)
def test_broken_source_is_read_as_far_as_it_goes(tmp_path, broken):
    (tmp_path / "p.tex").write_text("\\begin{document}\nThere are 3 seeds.\n" + broken)
    assert any("3 seeds" in s.text for s in read_document(tmp_path / "p.tex").sentences)


def test_markdown_tables_and_sentences(tmp_path):
    (tmp_path / "p.md").write_text(
        "# Results\n\nWe see 12 of 40 (30%).\nMore text here.\n\n| arm | score |\n|---|---:|\n| a | **1.5** |\n| b | 2.5 |\n\n```\n7 of 8\n```\n"
    )
    paper = read_document(tmp_path / "p.md")
    assert [(s.text, s.place, s.line) for s in paper.sentences] == [
        ("We see 12 of 40 (30%).", "Results", 3),
        ("More text here.", "Results", 4),
    ]
    (grid,) = paper.grids
    assert grid.rows[0][1].bold
    assert [cell.entry.main.value for _, cell in grid.column(1)] == [1.5, 2.5]
    assert grid.rows[1][1].line == 9


def test_html_tables_with_spans(tmp_path):
    (tmp_path / "p.html").write_text(
        "<h2>Results</h2><p>We see 12 of 40.</p><script>var x = 99</script>\n<table id='t'><caption>Cap</caption>"
        "<tr><th rowspan=2>arm</th><th colspan=2>score</th></tr><tr><th>mean</th><th>sd</th></tr>"
        "<tr><td rowspan=2>a</td><td><b>1.5</b></td><td>0.1</td></tr><tr><td>2&times;10<sup>-3</sup></td><td>0.2</td></tr></table>"
    )
    paper = read_document(tmp_path / "p.html")
    assert [(s.text, s.place) for s in paper.sentences] == [("We see 12 of 40.", "Results")]
    (grid,) = paper.grids
    assert (grid.name, grid.caption, len(grid.header)) == ("t", "Cap", 2)
    assert [grid.heading(j) for j in range(3)] == ["arm", "score mean", "score sd"]
    assert grid.rows[0][1].bold
    assert [cell.entry.main.value for _, cell in grid.column(1)] == [1.5, 0.002]
    assert grid.label(1) == "a"


@pytest.mark.parametrize("span", ["²", "9" * 5000, "x", "-2", "0", ""])
def test_a_span_that_is_no_number_counts_as_one(tmp_path, span):
    (tmp_path / "p.html").write_text(
        f"<table><tr><th colspan='{span}' rowspan='{span}'>arm</th><th>score</th></tr><tr><td>a</td><td>1.5</td></tr></table>"
    )
    (grid,) = read_document(tmp_path / "p.html").grids
    assert ([grid.heading(j) for j in range(2)], grid.label(0)) == (["arm", "score"], "a")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv_tables(tmp_path, separator):
    (tmp_path / "p.csv").write_text(f"arm{separator}n\na{separator}3\nb{separator}4\n")
    (grid,) = read_document(tmp_path / "p.csv").grids
    assert grid.heading(1) == "n"
    assert [cell.entry.main.value for _, cell in grid.column(1)] == [3, 4]
    assert grid.rows[1][1].line == 3


def test_other_files_are_refused_by_name(tmp_path):
    with pytest.raises(UsageError, match="not read"):
        read_document(tmp_path / "paper.docx")
    with pytest.raises(UsageError, match="cannot be read"):
        read_document(tmp_path / "paper.tex")
