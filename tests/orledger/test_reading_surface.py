"""One reading surface: whatever judges, tabulates or draws reads the views of the catalogue and the rows of the audit."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
READERS = ("reports", "paper", "explorer", "templates", "audit/evaluation", "audit/registry", "audit/statistics")
# The tables under the views. A query that names one of them reads around the catalogue.
UNDERNEATH = re.compile(r'\b(?:from|join)\s+"?(cell|record|refusal)\b"?(?!\s*\()', re.IGNORECASE)
EXCEPTIONS = {
    "audit/registry/registration.py": "asks which cases have cells on the connection that writes, where views may not be made yet",
    "reports/report/compare.py": "reads what a cell stored about its machine; no view has the code that a BLAS chose",
    "paper/hypotheses/earlier": "texts as they were once registered: their hashes stand in databases, and nobody evaluates them",
}


def texts(path: Path) -> Iterator[str]:
    """Every text that a file could send to the database; the parts of an f-string around a gap belong together."""
    if path.suffix == ".py":
        tree = ast.parse(path.read_text(encoding="utf-8"))
        parts = {id(v) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for v in node.values}
        parts |= {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                yield "".join(str(v.value) if isinstance(v, ast.Constant) else "?" for v in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
                yield node.value
    elif path.suffix == ".toml":
        yield from queries(tomllib.loads(path.read_text(encoding="utf-8")))
    elif path.suffix in (".sql", ".j2"):
        yield path.read_text(encoding="utf-8")


def queries(found: Any, name: str = "") -> Iterator[str]:
    """Every value called ``sql``, at any depth."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from queries(value, key)
    elif isinstance(found, list):
        for value in found:
            yield from queries(value, name)
    elif name == "sql":
        yield found


def base_tables(path: Path) -> list[str]:
    """The tables under the views that the queries of a file name."""
    return [m.group(1) for text in texts(path) if "select" in text.lower() for m in UNDERNEATH.finditer(text)]


def test_no_reader_names_a_table_under_the_views() -> None:
    found = {}
    for folder in READERS:
        for path in sorted(p for p in (ROOT / folder).rglob("*") if p.is_file()):
            where = path.relative_to(ROOT).as_posix()
            if not where.startswith(tuple(EXCEPTIONS)) and (named := base_tables(path)):
                found[where] = named
    assert found == {}


def test_every_exception_is_one() -> None:
    """An exception that no longer reads the tables is taken off the list."""
    for where in EXCEPTIONS:
        path = ROOT / where
        assert any(base_tables(p) for p in ([path] if path.is_file() else path.rglob("*.toml"))), where


def test_the_rule_catches_what_it_is_for(tmp_path: Path) -> None:
    path = tmp_path / "sample.py"
    path.write_text(
        '"""SELECT from record: a docstring."""\nA = f"SELECT x\\nFROM {1} v JOIN cell USING (cell_id)"\n'
        "B = 'SELECT * FROM all_cells JOIN all_records USING (cell_id)'\nC = ('SELECT 1'\n ' FROM refusal')\n"
    )
    assert base_tables(path) == ["cell", "refusal"]
    file = tmp_path / "sample.toml"
    file.write_text("title = 'from record to select'\n[[claim]]\n[[claim.sides]]\nsql = 'SELECT value FROM record'\n")
    assert base_tables(file) == ["record"]
