"""The tables: CSV, cache, offline refusal, hashes, the subsample."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.error import URLError

import numpy as np
import pytest
from click.testing import CliRunner

from orledger.cli import main
from orledger.errors import DataError
from orledger.runners.case_b import data
from orledger.runners.case_b.data import SOURCES, DatasetAbsentError, DataTable, load, locate, read_csv, subsample

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def fresh_memory() -> None:
    """Loads are remembered for the life of a process; each test starts without memory."""
    data._load.cache_clear()


def energy_csv(folder: Path) -> Path:
    path = folder / "energy.csv"
    path.write_text("height,heating_load,area,cooling_load\n3.5,15.5,2,21.25\n7,20.125,4,1e2\n", encoding="utf-8")
    return path


def test_csv_takes_the_target_by_name_and_drops_the_other_load(tmp_path: Path) -> None:
    energy_csv(tmp_path)
    table = load("energy", str(tmp_path), offline=True)
    assert table.features == ("height", "area")
    assert table.X.tolist() == [[3.5, 2.0], [7.0, 4.0]]
    assert table.y.tolist() == [15.5, 20.125]
    assert "user file energy.csv" in table.origin
    assert str(tmp_path) not in table.origin


def test_hash_is_of_values_row_by_row(tmp_path: Path) -> None:
    import hashlib
    import struct

    table = load("energy", str(energy_csv(tmp_path).parent), offline=True)
    expected = hashlib.sha256(struct.pack("<6d", 3.5, 2.0, 15.5, 7.0, 4.0, 20.125)).hexdigest()
    assert table.sha256 == expected
    assert table.description()["distinct_targets"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,heating_load\n1,2\n3,low\n", "line 3, column heating_load: 'low' is not a number"),
        ("a,heating_load\n1\n", "line 2: 1 cells under a header of 2"),
        ("a,b\n1,2\n", "no column 'heating_load'"),
        ("a,heating_load\n", "holds no rows"),
    ],
)
def test_unusable_files_say_where(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "energy.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_csv(SOURCES["energy"], path, "test")


def test_absent_dataset_says_how_to_provide_it(tmp_path: Path) -> None:
    with pytest.raises(DatasetAbsentError) as caught:
        load("concrete", None, str(tmp_path), offline=True)
    assert "downloads are off" in str(caught.value)
    assert "concrete.csv" in caught.value.hint
    assert "--data-dir" in caught.value.hint


def test_failed_download_is_reported_once_per_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def no_network(source: data.DataSource) -> DataTable:
        calls.append(source.name)
        raise URLError("name resolution failed")

    monkeypatch.setattr(data, "download", no_network)
    for _ in range(3):
        with pytest.raises(DatasetAbsentError, match="name resolution failed"):
            load("yacht", None, str(tmp_path))
    assert calls == ["yacht"]


def test_download_is_cached_as_text_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    g = np.random.default_rng(0)
    fetched = DataTable(
        "yacht", g.standard_normal((5, 2)), g.standard_normal(5), ("a", "b"), "Residuary.resistance", "OpenML 42370"
    )
    monkeypatch.setattr(data, "download", lambda _: fetched)
    assert load("yacht", None, str(tmp_path)).sha256 == fetched.sha256
    assert {p.name for p in tmp_path.iterdir()} == {"yacht.csv", "yacht.json"}
    assert locate("yacht", None, str(tmp_path)) == "cache"
    data._load.cache_clear()
    monkeypatch.setattr(data, "download", lambda _: pytest.fail("the cache should have answered"))
    again = load("yacht", None, str(tmp_path), offline=True)
    assert (again.sha256, again.origin) == (fetched.sha256, "OpenML 42370")
    data._load.cache_clear()
    path = tmp_path / "yacht.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("0.", "1.", 1), encoding="utf-8")
    with pytest.raises(DataError, match="has changed since it was downloaded"):
        load("yacht", None, str(tmp_path), offline=True)


@pytest.mark.parametrize("note", ["", "{", "[]", "{}", '{"origin": "x"}', "[" * 100_000, "\udcff"])
def test_a_damaged_note_in_the_cache_is_named(tmp_path: Path, note: str) -> None:
    (tmp_path / "yacht.csv").write_text("a,Residuary.resistance\n1,2\n")
    (tmp_path / "yacht.json").write_bytes(note.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match=r"yacht\.json is damaged") as caught:
        load("yacht", None, str(tmp_path), offline=True)
    assert "fetch it again" in str(caught.value)


def test_a_mark_at_the_beginning_of_a_csv_is_no_part_of_the_name(tmp_path: Path) -> None:
    path = tmp_path / "yacht.csv"
    path.write_bytes(b"\xef\xbb\xbfa,Residuary.resistance\r\n1,2\r\n3,4\r\n")
    assert load("yacht", str(tmp_path)).features == ("a",)


def test_a_huge_field_in_a_csv_is_a_message(tmp_path: Path) -> None:
    (tmp_path / "yacht.csv").write_text("a,Residuary.resistance\n1," + "2" * 200_000 + "\n")
    with pytest.raises(DataError, match="line 2: cannot be read as CSV"):
        load("yacht", str(tmp_path))


def test_data_directory_comes_before_the_cache(tmp_path: Path) -> None:
    energy_csv(tmp_path)
    assert locate("energy", str(tmp_path), None) == "data directory"
    assert locate("diabetes", str(tmp_path), None) == "scikit-learn"


def test_diabetes_ships_with_scikit_learn() -> None:
    table = load("diabetes", offline=True)
    assert table.X.shape == (442, 10)
    assert np.unique(table.y).size == 214


def test_subsample_is_the_published_draw() -> None:
    table = DataTable("california", np.arange(20640.0)[:, None], np.arange(20640.0), ("a",), "t", "somewhere")
    found = subsample(table, 1500, 0)
    assert found.y.tolist() == np.random.default_rng(0).choice(20640, 1500, replace=False).tolist()
    assert "1500 of 20640 rows" in found.origin
    assert subsample(table, 30000, 0) is table


def test_command_line_lists_fetches_and_audits(tmp_path: Path) -> None:
    runner = CliRunner()
    listed = runner.invoke(main, ["datasets", "list", "--json", "--data-dir", str(energy_csv(tmp_path).parent)])
    assert {r["dataset"]: r["read from"] for r in json.loads(listed.output)}["energy"] == "data directory"
    fetched = runner.invoke(main, ["datasets", "fetch", "energy", "--json", "--data-dir", str(tmp_path)])
    assert json.loads(fetched.output)[0]["n_rows"] == 2
    audited = runner.invoke(main, ["datasets", "audit", "energy", "--json", "--offline", "--data-dir", str(tmp_path)])
    assert audited.exit_code == DataError.exit_code
    assert "2 levels" in audited.output
    unknown = runner.invoke(main, ["datasets", "fetch", "iris"])
    assert unknown.exit_code != 0
    assert "unknown dataset 'iris'" in unknown.output
