"""`orledger verify` and receipts, as a user and a cheat meet them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from toy_case import run_toy, toy_plan

from orledger.cli import main
from orledger.schema import chain, receipts
from orledger.schema.opening import connect

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
TEXTS = (EXAMPLES / "demsar2006.toml", EXAMPLES / "demsar2006.hypotheses.toml")


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(w) for w in words])


@pytest.fixture
def registered(db: Path, made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """Two hypotheses registered, and no cell."""

    def make(path: Path) -> None:
        assert run("register", *TEXTS, "--db", path).exit_code == 0

    return Path(shutil.copyfile(made_once("registered/results.duckdb", make), db))


def test_an_untouched_database_is_fine_and_an_edited_one_is_not(toy_db: Path, db: Path) -> None:
    done = run("verify", "--db", toy_db)
    assert done.exit_code == 0
    assert "20 cells with an outcome" in done.output
    shutil.copy(toy_db, db)
    with closing(connect(db, "write")) as con:
        con.execute("UPDATE record SET value = value * 2 WHERE rowid = 0")
    done = run("verify", "--db", db)
    assert done.exit_code == 6
    assert "the content hash differs: toy/main/" in done.output
    assert run("verify", "--db", db, "--no-contents").exit_code == 0
    found = json.loads(run("verify", "--db", db, "--json").output.partition("\nerror:")[0])
    assert [f["rule"] for f in found["findings"]] == ["the content hash differs"]


def test_a_receipt_from_before_the_data(registered: Path, tmp_path: Path) -> None:
    receipt = tmp_path / "before.json"
    assert run("verify", "--db", registered, "--write-receipt", receipt).exit_code == 0
    run_toy(registered, toy_plan(4))
    late = tmp_path / "late.json"
    assert run("verify", "--db", registered, "--write-receipt", late).exit_code == 0
    done = run("verify", "--db", registered, "--receipt", receipt, "--receipt", late)
    assert done.exit_code == 0, done.output
    assert "before any cell was computed; " in done.output
    assert "registrations, not signed" in done.output
    assert "when 4 cells had an outcome" in done.output
    head = json.loads(receipt.read_text())["head"]
    assert run("verify", "--db", registered, "--against", head[:16]).exit_code == 0
    assert run("verify", "--db", registered, "--against", "0" * 64).exit_code == 6


def test_a_new_database_with_files_written_after_the_data_has_no_receipt(registered: Path, tmp_path: Path) -> None:
    """The data seen, the hypotheses changed, everything made anew in the right order: the old receipt does not fit."""
    receipt, fresh = tmp_path / "before.json", tmp_path / "fresh.duckdb"
    assert run("verify", "--db", registered, "--write-receipt", receipt).exit_code == 0
    assert run("register", *TEXTS, "--db", fresh).exit_code == 0
    run_toy(fresh, toy_plan(4))
    assert run("verify", "--db", fresh).exit_code == 0  # consistent in itself
    done = run("verify", "--db", fresh, "--receipt", receipt)
    assert done.exit_code == 6
    assert "a noted head is not in the chain" in done.output


@pytest.mark.parametrize("change", [("cells", 0), ("sequence", 2), ("registrations", [{"hash": "0" * 64}])])
def test_an_edited_receipt_is_found(registered: Path, tmp_path: Path, change: tuple[str, object]) -> None:
    run_toy(registered, toy_plan(4))
    receipt = tmp_path / "receipt.json"
    assert run("verify", "--db", registered, "--write-receipt", receipt).exit_code == 0
    receipt.write_text(json.dumps(json.loads(receipt.read_text()) | dict([change])))
    assert run("verify", "--db", registered, "--receipt", receipt).exit_code == 6


def late(registered: Path, tmp_path: Path) -> tuple[Path, str]:
    """A receipt from before the data, with a hypothesis that was registered after them, and the hash of that one."""
    receipt, text = tmp_path / "before.json", TEXTS[0].read_text(encoding="utf-8")
    assert run("verify", "--db", registered, "--write-receipt", receipt).exit_code == 0
    run_toy(registered, toy_plan(4))
    (tmp_path / "late.toml").write_text(text.replace("\nid = ", '\nid = "late" # ', 1), encoding="utf-8")
    assert run("register", tmp_path / "late.toml", "--db", registered).exit_code == 0
    with closing(connect(registered)) as con:
        ((key,),) = con.execute("SELECT hash FROM registration WHERE hypothesis = 'late'").fetchall()
    return receipt, key


FORGED: dict[str, tuple[str, Callable[[dict[str, Any], str], object]]] = {
    "a late registration": ("registrations", lambda r, key: r["registrations"].append({"hash": key})),
    "one instead of another": ("registrations", lambda r, key: r["registrations"][0].update(hash=key)),
    "no registration": ("registrations", lambda r, _: r["registrations"].clear()),
    "one left out": ("registrations", lambda r, _: r["registrations"].pop()),
    "one twice": ("registrations", lambda r, _: r["registrations"].append(r["registrations"][0])),
    "another name": ("registrations", lambda r, _: r["registrations"][0].update(hypothesis="other")),
    "an earlier time of one": ("registrations", lambda r, _: r["registrations"][0].update(registered="2020-01-01T00:00:00")),
    "written in 2020": ("written", lambda r, _: r.update(written="2020-01-01T00:00:00+00:00")),
    "no time": ("written", lambda r, _: r.update(written="then")),
    "written later": ("file", lambda r, _: r.update(written="2999-01-01T00:00:00+00:00")),
    "another genesis": ("genesis", lambda r, _: r.update(genesis="0" * 64)),
    "other cells": ("cells", lambda r, _: r.update(cells=3)),
    "false for no cells": ("cells", lambda r, _: r.update(cells=False)),
    "another place": ("sequence", lambda r, _: r.update(sequence=1)),
    "something more": ("file", lambda r, _: r.update(note="seen by a notary")),
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGED)
def test_every_field_of_a_receipt_is_held_against_the_chain(registered: Path, tmp_path: Path, forgery: str) -> None:
    receipt, key = late(registered, tmp_path)
    data = json.loads(receipt.read_text(encoding="utf-8"))
    name, forge = FORGED[forgery]
    forge(data, key)
    receipt.write_text(json.dumps(data), encoding="utf-8")
    done = run("verify", "--db", registered, "--receipt", receipt, "--json")
    assert done.exit_code == 6, done.output
    found = json.loads(done.output.partition("\nerror:")[0])
    assert {(f["rule"], f["where"].partition(",")[0]) for f in found["findings"]} == {("the receipt was changed", name)}
    assert not found["receipts"][str(receipt)]["before_data"]
    plain = run("verify", "--db", registered, "--receipt", receipt)
    assert f"the receipt was changed: {name}" in plain.output
    assert "in the chain at entry" not in plain.output


def test_a_receipt_may_be_set_out_otherwise_and_an_earlier_one_with_another_clock_serves(
    registered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other spaces and another order of the fields are no change; nor is a time before its head that the chain knows of."""
    receipt, _ = late(registered, tmp_path)
    data = json.loads(receipt.read_text(encoding="utf-8"))
    receipt.write_text(json.dumps(data, sort_keys=True), encoding="utf-8")
    done = run("verify", "--db", registered, "--receipt", receipt)
    assert done.exit_code == 0, done.output
    assert "before any cell was computed; 2 registrations" in done.output
    made = receipts.make
    early = "2020-01-01T00:00:00+00:00"  # as a version that knew nothing of a clock that was set back
    monkeypatch.setattr(receipts, "make", lambda con, key: {**made(con, key), "written": early})
    assert run("verify", "--db", registered, "--write-receipt", tmp_path / "early.json").exit_code == 0
    done = run("verify", "--db", registered, "--receipt", tmp_path / "early.json")
    assert done.exit_code == 0, done.output


def test_a_receipt_serves_after_a_merge_that_knows_an_earlier_registration(registered: Path, tmp_path: Path) -> None:
    """The same text registered earlier elsewhere: the receipt of either file is still as it was written."""
    second, first = tmp_path / "second.json", tmp_path / "first.json"
    other = tmp_path / "other.duckdb"
    assert run("register", *TEXTS, "--db", other).exit_code == 0
    assert run("verify", "--db", other, "--write-receipt", second).exit_code == 0
    assert run("verify", "--db", registered, "--write-receipt", first).exit_code == 0
    run_toy(registered, toy_plan(2))
    assert run("db", "merge", other, registered).exit_code == 0
    done = run("verify", "--db", other, "--receipt", first, "--receipt", second)
    assert done.exit_code == 0, done.output
    data = json.loads(second.read_text(encoding="utf-8"))
    data["registrations"][0]["registered"] = "2020-01-01T00:00:00"
    second.write_text(json.dumps(data), encoding="utf-8")
    done = run("verify", "--db", other, "--receipt", second)
    assert done.exit_code == 6
    assert "the receipt was changed: registrations" in done.output


def test_a_receipt_that_was_signed_by_another_program_serves(
    registered: Path, tmp_path: Path, keys: tuple[Path, Path]
) -> None:
    receipt = tmp_path / "r.json"
    assert run("verify", "--db", registered, "--write-receipt", receipt).exit_code == 0
    data = json.loads(receipt.read_text(encoding="utf-8"))
    receipt.write_text(json.dumps({"signature": receipts._signed(data, keys[0]), **data}), encoding="utf-8")
    done = run("verify", "--db", registered, "--receipt", receipt, "--key", keys[1])
    assert done.exit_code == 0, done.output
    assert "signed by SHA256:" in done.output


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A key pair as ssh-keygen writes it."""
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    folder = tmp_path_factory.mktemp("keys")
    key = Ed25519PrivateKey.generate()
    private, public = folder / "id_ed25519", folder / "id_ed25519.pub"
    private.write_bytes(key.private_bytes(s.Encoding.PEM, s.PrivateFormat.OpenSSH, s.NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(s.Encoding.OpenSSH, s.PublicFormat.OpenSSH) + b" me@lab\n")
    return private, public


def test_a_signed_receipt(registered: Path, tmp_path: Path, keys: tuple[Path, Path]) -> None:
    private, public = keys
    receipt = tmp_path / "signed.json"
    assert run("verify", "--db", registered, "--write-receipt", receipt, "--sign", private).exit_code == 0
    done = run("verify", "--db", registered, "--receipt", receipt, "--key", public)
    assert done.exit_code == 0, done.output
    if shutil.which("ssh-keygen"):
        shown = subprocess.run(
            ["ssh-keygen", "-lf", public], capture_output=True, text=True, check=True
        ).stdout.split()[1]
        assert f"signed by {shown}" in done.output
    data = json.loads(receipt.read_text())
    for changed in (
        data | {"written": "2020-01-01T00:00:00+00:00"},
        {**data, "signature": {**data["signature"], "signature": "AAAA"}},
    ):
        receipt.write_text(json.dumps(changed))
        done = run("verify", "--db", registered, "--receipt", receipt)
        assert done.exit_code == 6
        assert "the signature does not hold" in done.output
    data.pop("signature")
    receipt.write_text(json.dumps(data))
    assert run("verify", "--db", registered, "--receipt", receipt).exit_code == 0
    assert (
        "the receipt is not signed" in run("verify", "--db", registered, "--receipt", receipt, "--key", public).output
    )


def test_another_key_is_not_the_key(registered: Path, tmp_path: Path, keys: tuple[Path, Path]) -> None:
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    receipt, other = tmp_path / "signed.json", tmp_path / "other.pub"
    assert run("verify", "--db", registered, "--write-receipt", receipt, "--sign", keys[0]).exit_code == 0
    public = Ed25519PrivateKey.generate().public_key()
    other.write_bytes(public.public_bytes(s.Encoding.OpenSSH, s.PublicFormat.OpenSSH))
    done = run("verify", "--db", registered, "--receipt", receipt, "--key", other)
    assert done.exit_code == 6
    assert "which is not the key in" in done.output


@pytest.mark.parametrize("text", ["", "{}", "[]", "[" * 100_000, '{"sequence": 1, "registrations": [1]}', "\udcff"])
def test_a_file_that_is_no_receipt_is_refused(toy_db: Path, tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    done = run("verify", "--db", toy_db, "--receipt", file)
    assert done.exit_code == 2
    assert "is not a receipt" in done.output
    done = run("verify", "--db", toy_db, "--write-receipt", tmp_path / "r.json", "--sign", file)
    assert done.exit_code == 2
    assert not (tmp_path / "r.json").exists()


def test_no_receipt_is_written_for_a_database_that_was_edited(toy_db: Path, db: Path, tmp_path: Path) -> None:
    shutil.copy(toy_db, db)
    with closing(connect(db, "write")) as con:
        con.execute("UPDATE run SET preset = 'x'")
        before = chain.head(con)
    assert run("verify", "--db", db, "--write-receipt", tmp_path / "r.json").exit_code == 6
    assert not (tmp_path / "r.json").exists()
    with closing(connect(db)) as con:
        assert chain.head(con) == before


@pytest.mark.parametrize("words", [("--sign", "x"), ("--key", "x"), ("--against", "xyz")])
def test_options_that_do_not_go_together(toy_db: Path, tmp_path: Path, words: tuple[str, str]) -> None:
    (tmp_path / "x").write_text("")
    value = tmp_path / "x" if words[1] == "x" else words[1]
    assert run("verify", "--db", toy_db, words[0], value).exit_code == 2
