"""Names that would turn the text around them, and files that begin with a byte order mark."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from click.testing import CliRunner

from orledger.cli import main
from orledger.toml_tables import parse
from orledger.wording import TURNING, escaped_json, visible

if TYPE_CHECKING:
    from pathlib import Path

NAME = "a\u202eb"


def run(*words: object) -> str:
    done = CliRunner().invoke(main, [str(w) for w in words])
    assert done.exit_code == 0, done.output
    return done.output


def test_a_turning_character_is_shown_as_its_code_point() -> None:
    assert visible(f"x {NAME} y") == "x a[U+202E]b y"
    assert all(visible(chr(code)) == f"[U+{code:04X}]" for code in TURNING)
    assert visible("שלום é 中") == "שלום é 中"  # letters of any script stay


def test_json_means_the_same_without_them() -> None:
    text = escaped_json(json.dumps([NAME], ensure_ascii=False))
    assert text == '["a\\u202eb"]'
    assert json.loads(text) == [NAME]


def test_no_page_or_line_holds_one(tmp_path: Path) -> None:
    rows = "\n".join(f"d{k},{k},{k + 1}" for k in range(6))
    (tmp_path / "t.csv").write_text(f"dataset,{NAME},c\n{rows}\n", encoding="utf-8")
    path, page = tmp_path / "t.duckdb", tmp_path / "page.html"
    run("import", tmp_path / "t.csv", "--mapping", mapping(tmp_path), "--db", path)
    shutil.copy(path, tmp_path / "same.duckdb")
    run("compare", path, tmp_path / "same.duckdb", "--html", page)
    for text in (run("sql", "SELECT DISTINCT arm FROM record", "--db", path), page.read_text("utf-8")):
        assert "[U+202E]" in text
        assert not any(chr(code) in text for code in TURNING)
    assert NAME in run("sql", "SELECT DISTINCT arm FROM record", "--db", path, "--format", "csv")  # data stay data


def mapping(folder: Path) -> Path:
    text = (
        'study = "s"\nblock = "t"\nform = "wide"\nkeys = ["dataset"]\n'
        f'[wide]\nmetric = "m"\narms = ["{NAME}", "c"]\n'
        '[[metric]]\nname = "m"\nbetter = "lower"\ndescription = "an error"\n'
    )
    (folder / "m.toml").write_text("\ufeff" + text, encoding="utf-8")  # and it begins with a byte order mark
    return folder / "m.toml"


def test_a_byte_order_mark_begins_a_file_of_toml() -> None:
    assert parse('\ufeffx = "y"', "f.toml").data == {"x": "y"}
