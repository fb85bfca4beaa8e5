"""TOML files that would cost a parser the machine: refused by line, before it meets them; texts with dots and brackets are texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from orledger.audit.recheck.data import parse_publication
from orledger.cli import main
from orledger.toml_tables import TomlError, parse

KEY, NESTED = "a key of more than 50 parts", "lists or tables nested more than 50 deep"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("x = 1\n" + "a." * 50 + "b = 1", 2, KEY),
        ("a." * 30_000 + "b = 1", 1, KEY),
        ("\n\n[" + "a . " * 50 + "b]", 3, KEY),
        ("[[" + "a." * 50 + "b]]", 1, KEY),
        ("x = { y = 1.5, " + "a." * 50 + "b = 1 }", 1, KEY),
        ('"a.a"."a".' * 25 + "'b' = 1", 1, KEY),
        ("x = '''\n'''\ny = [\n" + "[" * 50, 4, NESTED),
        ("x = " + "{ a = " * 51, 1, NESTED),
        ("x = " + "[" * 100_000, 1, NESTED),
    ],
)
def test_what_is_too_deep_is_refused_by_its_line(text: str, line: int, what: str) -> None:
    for read in (parse, lambda text, file: parse_publication({file: text})):
        with pytest.raises(TomlError) as refused:
            read(text, "f.toml")
        assert refused.value.message == f"f.toml, line {line}: {what}"


def test_what_only_looks_deep_is_read() -> None:
    dots, brackets = "a." * 200, "[{" * 200
    text = (
        "a." * 49 + "b = 1\n"
        f'basic = "{dots}\\"{brackets}" # {dots} {brackets}\n'
        f"literal = '{dots}{brackets}'\n"
        f'long = """{dots}\n"" \\"""{brackets}""""\n'
        f"plain = '''{dots}\n''{brackets}'''\n"
        f"numbers = [{'1.5, ' * 100}]\n"
        f"lists = {'[' * 50}{']' * 50}\n"
        f"[{'t.' * 49}t]\n"
    )
    found = parse(text, "f.toml").data
    assert found["basic"] == dots + '"' + brackets
    assert found["long"] == f'{dots}\n"" """{brackets}"'
    assert len(found["numbers"]) == 100


@pytest.mark.parametrize(
    "text", ['x = "', "x = '''", 'x = """' + '\\"""' * 100_000, '"' + '\\"' * 100_000, "'" * 99_999]
)
def test_a_text_without_its_end_is_looked_through_once(text: str) -> None:
    with pytest.raises(TomlError, match="not valid TOML"):
        parse(text, "f.toml")


def test_a_command_says_so(tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_text("a." * 30_000 + "b=1", encoding="utf-8")
    (tmp_path / "x.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    db = str(tmp_path / "x.duckdb")
    for words in (
        ["register", str(tmp_path / "b.toml"), "--db", db],
        ["import", str(tmp_path / "x.csv"), "--mapping", str(tmp_path / "b.toml"), "--db", db],
    ):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 2, done.output
        assert "b.toml, line 1: a key of more than 50 parts" in done.output
