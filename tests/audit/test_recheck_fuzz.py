"""Files that are no paper: broken structure, endless numbers, macros that double, includes that circle, bytes. No traceback ever."""

import random

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orledger.audit.recheck.automatic.checking import recheck_document
from orledger.audit.recheck.reading.opening import MOST_ROWS, read_document
from orledger.cli import main

DOUBLING = "".join(rf"\newcommand{{\{chr(98 + i)}}}{{\{chr(97 + i)}\{chr(97 + i)}}}" for i in range(20))
FILES = {
    "cycle.tex": r"\newcommand{\a}{\b 1}\newcommand{\b}{\a 2}\begin{document}\a\end{document}",
    "doubling.tex": r"\newcommand{\a}{1 }" + DOUBLING + r"\begin{document}\u\end{document}",
    "itself.tex": r"\begin{document}\input{itself} 1.2 \include{itself}\end{document}",
    "arguments.tex": r"\def\a#1#2#3{#9}\begin{document}\a{1}{2}\newcommand{\c}[9]{#1}\c{1}\end{document}",
    "wide.tex": r"\begin{tabular}{ll} a & \multicolumn{9999999}{c}{x} \\ \multirow{-5}{*}{3} & 1 \end{tabular}",
    "open.tex": r"\begin{table}\begin{tabular}{lll} a & 1 & {2 \\ \multicolumn{3}{c}{x}",
    "braces.tex": r"\begin{document}" + "{" * 3000 + "1" + "}" * 3000 + r"\end{document}",
    "endless.md": "t(28) = 1" + "0" * 5000 + ", p = ." + "0" * 4000 + "1. " + "9" * 5000 + " of 3 (5%).",
    "powers.md": "1e999999999, 1e-999999999, M = 1e400, SD = 1e400, n = 99999999999999 ratings, 10^{99999999999}.",
    "sizes.md": "The ratings: M = 3.5, SD = 1.2, n = 999999999999999999. We saw 26% of the 99999999999999 runs.",
    "one_line.md": "12 of 40 (30%) " * 400,
    "many_rows.md": "|a|b|total|\n|---|---|---|\n" + "|x|1|1|\n" * (MOST_ROWS + 50),
    "tags.html": "<table><tr><td colspan=100000000>1<td rowspan=99999999>2<tr><table><td>3" * 20,
    "nested.html": "<table><tr><td>" * 400 + "1",
    "quotes.csv": 'a,b\n"1,2\n3,4\n' * 50,
    "nothing.tex": "",
    "zero.md": "a\0b 1 of 2 (50%)\n",
}


@pytest.mark.parametrize("name", FILES)
def test_a_broken_file_ends_with_a_documented_code_and_no_traceback(name, tmp_path):
    file = tmp_path / name
    file.write_text(FILES[name], encoding="utf-8")
    result = CliRunner().invoke(main, ["recheck", str(file)])
    assert result.exit_code in (0, 2, 6), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output


@pytest.mark.parametrize("ending", ["tex", "md", "html", "csv"])
def test_bytes_are_read_as_well_as_they_can_be(ending, tmp_path):
    file = tmp_path / f"bytes.{ending}"
    file.write_bytes(random.Random(1).randbytes(4000))
    result = CliRunner().invoke(main, ["recheck", str(file)])
    assert result.exit_code in (0, 2, 6), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_what_was_left_out_is_said(tmp_path):
    for name, words in (("endless.md", "digits in a row"), ("many_rows.md", "the first 1000 were read")):
        file = tmp_path / name
        file.write_text(FILES[name], encoding="utf-8")
        assert any(words in note for note in read_document(file).notes)


PIECES = st.lists(
    st.sampled_from(
        [
            "12 of 40 (30%)", "t(28) = 2.20, p = .036", "3.1 ± 0.2", "[1.2, 3.4]", "[4, 1]", "0/0 (0%)", "{", "}", "\\", "&", "\\\\",
            "\\begin{tabular}{ll}", "\\end{tabular}", "\\multicolumn{2}{c}{1", "\\textbf{", "|", "\n", "---", "<td>", "</table>",
            "<tr", "p < .", "10^{-", "1e5", "−3", "1,413", "n = 0", "M = 2.5, SD = 0, n = 0 ratings", "$", "%", "#1", "\\input{x}", " total ",
        ]
    ),
    max_size=40,
)  # fmt: skip


@settings(
    derandomize=True,
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(pieces=PIECES, ending=st.sampled_from(["tex", "md", "html", "csv"]))
def test_no_order_of_pieces_ends_the_reading_or_the_checks(pieces, ending, tmp_path):
    """Fragments of tables, tests and markup in any order: every check comes to its end, none is reported as stopped."""
    file = tmp_path / f"any.{ending}"
    file.write_text(" ".join(pieces), encoding="utf-8")
    for finding in recheck_document(read_document(file)):
        assert not finding.id.startswith("check "), finding.why
