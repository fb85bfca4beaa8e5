"""Receipts: the head of the chain in one small file, to be kept, signed or time-stamped where the database is not."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from orledger.errors import DatabaseError, UsageError, VerificationError
from orledger.files import require_file
from orledger.schema import chain, ledger
from orledger.schema.contents import CheckFinding
from orledger.schema.hashing import canonical

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from duckdb import DuckDBPyConnection

FORMAT = 1
SIGNED = ("algorithm", "public_key", "signature")
REGISTERED = ("hypothesis", "hash", "registered")
FIELDS = ("orledger_receipt", "head", "sequence", "genesis", "written", "registrations", "cells")
NEEDED = "pip install 'orledger[sign]'"


# The first receipt that was written from a history which held the registration, and before a cell of any study that the
# registration can read had an outcome in any history; a registration that names none of them counts every cell.
BEFORE_DATA = """
WITH receipt AS (
    SELECT branch, sequence, written, json_extract_string(payload, '$.sha256') AS sha256,
           json_extract_string(payload, '$.signed_by') AS signed_by
    FROM ledger WHERE kind = 'receipt' AND json_valid(payload)
), held AS (
    SELECT key, branch, min(sequence) AS since FROM ledger_item WHERE part = 'registration' GROUP BY ALL
), outcome AS (
    SELECT c.case_name, min(l.written) AS first FROM ledger_item i JOIN ledger l USING (branch, sequence)
    LEFT JOIN cell c ON c.cell_id = i.key WHERE i.part = 'cell' GROUP BY ALL
)
SELECT r.hash, arg_min(struct_pack(written := strftime(t.written, '%Y-%m-%d %H:%M:%S'), sha256 := t.sha256,
                                   signed_by := t.signed_by), (t.written, t.branch, t.sequence)) AS receipt
FROM registration r JOIN held h ON h.key = r.hash JOIN receipt t ON t.branch = h.branch AND h.since <= t.sequence
WHERE NOT EXISTS (
    SELECT 1 FROM outcome o WHERE o.first <= t.written
    AND (len(r.reaches) = 0 OR o.case_name IS NULL OR list_contains(r.reaches, o.case_name))
)
GROUP BY r.hash
"""


@dataclass(frozen=True)
class Earlier:
    """A receipt that was written before the data: when, the SHA-256 of its file, and the key that signed it."""

    written: str
    sha256: str
    signed_by: str | None


@dataclass(frozen=True)
class Checked:
    """A receipt against a database: when it was written, how many cells had an outcome then, and what does not agree."""

    written: str
    sequence: int
    cells: int
    registrations: int
    signed_by: str | None
    findings: tuple[CheckFinding, ...]

    @property
    def before_data(self) -> bool:
        """Whether the chain had no cell with an outcome when the receipt was written."""
        return not self.findings and self.cells == 0


def make(con: DuckDBPyConnection, key: Path | None = None) -> dict[str, Any]:
    """A receipt of the chain as it stands; with ``key``, an Ed25519 private key in a file, it is signed."""
    last = chain.head(con)
    if last is None:
        raise DatabaseError("the database has no history", hint="orledger db migrate begins one")
    genesis = ledger.entries(con, f"branch = {ledger.OWN} AND sequence = 1")
    rows = con.execute("SELECT hypothesis, hash, registered FROM registration ORDER BY ALL").fetchall()
    receipt: dict[str, Any] = {
        "orledger_receipt": FORMAT,
        "head": last.hash,
        "sequence": last.sequence,
        "genesis": genesis[0].hash if genesis else None,
        "written": chain.moment(con).replace(tzinfo=UTC).isoformat(timespec="seconds"),
        "registrations": [{"hypothesis": h, "hash": k, "registered": at.isoformat()} for h, k, at in rows],
        "cells": cells_at(con, ledger.OWN, last.sequence),
    }
    return receipt if key is None else {**receipt, "signature": _signed(receipt, key)}


def text_of(receipt: dict[str, Any]) -> str:
    """The text of the file that holds ``receipt``, its fields in their order however they came; its hash is in the chain."""
    parts: dict[str, Any] = {"registrations": [_ordered(r, REGISTERED) for r in receipt["registrations"]]}
    if isinstance(receipt.get("signature"), dict):
        parts["signature"] = _ordered(receipt["signature"], SIGNED)
    return json.dumps(_ordered({**receipt, **parts}, FIELDS), indent=2, ensure_ascii=False) + "\n"


def _ordered(data: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """``data`` with ``names`` first."""
    return {name: data[name] for name in names if name in data} | data


def read(path: Path) -> dict[str, Any]:
    """The receipt in the file at ``path``; UsageError when it is none."""
    require_file(path)
    try:
        receipt = json.loads(path.read_text(encoding="utf-8"))
        whole = isinstance(receipt["sequence"], int) and all(
            isinstance(r["hash"], str) for r in receipt["registrations"]
        )
        if not whole or any(name not in receipt for name in FIELDS):
            raise ValueError(f"expected {', '.join(FIELDS)}")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{path} is not a receipt: {error}", hint="give a file that orledger verify --write-receipt wrote"
        ) from error
    if receipt["orledger_receipt"] != FORMAT:
        raise UsageError(f"{path}: a receipt of format {receipt['orledger_receipt']}, and this orledger reads {FORMAT}")
    found: dict[str, Any] = receipt
    return found


def check(con: DuckDBPyConnection, receipt: dict[str, Any], key: Path | None = None) -> Checked:
    """What ``receipt`` says about the database; ``key`` is the public key that must have signed it."""
    findings: list[CheckFinding] = []
    where = f"receipt of {receipt['written']}"
    entry = next((e for e in ledger.entries(con) if e.hash == receipt["head"]), None)
    if entry is None:
        findings.append(
            CheckFinding("a noted head is not in the chain", where, f"{receipt['head']}: the history is another")
        )
    known = dict(con.execute("SELECT hash, hypothesis FROM registration").fetchall())
    findings += [
        CheckFinding("a registration of the receipt is gone", where, f"{r.get('hypothesis')} {r['hash'][:12]}")
        for r in receipt["registrations"]
        if r["hash"] not in known
    ]
    signed_by = None
    if "signature" in receipt or key is not None:
        try:
            signed_by = signer(receipt, key)
        except VerificationError as error:
            findings.append(CheckFinding("the signature does not hold", where, error.message))
    if entry is not None:
        gone = {r["hash"] for r in receipt["registrations"]} - set(known)
        findings += [
            CheckFinding("the receipt was changed", f"{name}, in the {where}", detail)
            for name, detail in _changed(con, receipt, entry, gone)
        ]
    cells = cells_at(con, entry.branch, entry.sequence) if entry is not None else receipt["cells"]
    return Checked(
        str(receipt["written"]), receipt["sequence"], cells, len(receipt["registrations"]), signed_by, tuple(findings)
    )


def _changed(
    con: DuckDBPyConnection, receipt: dict[str, Any], entry: ledger.Entry, gone: Collection[str]
) -> list[tuple[str, str]]:
    """Each field of ``receipt`` that is not what the chain had at ``entry``, its head, and what it had; ``gone`` is told elsewhere."""
    (first,) = ledger.entries(con, f"branch = {entry.branch} ORDER BY sequence LIMIT 1")
    cells = cells_at(con, entry.branch, entry.sequence)
    found: list[tuple[str, str]] = []
    if receipt["sequence"] != entry.sequence:
        found.append(("sequence", f"its head is entry {entry.sequence}"))
    if receipt["genesis"] != first.hash:
        found.append(("genesis", f"the history begins with {first.hash[:12]}"))
    if isinstance(receipt["cells"], bool) or receipt["cells"] != cells:
        found.append(("cells", f"{cells} cells had an outcome at its head"))
    found += _other_registrations(con, receipt["registrations"], entry, gone)
    entered = [e.summary for e in ledger.entries(con, "kind = 'receipt' ORDER BY branch, sequence")]
    files = {str(e.get("sha256")): "signed_by" in e for e in entered if e.get("head") == entry.hash}
    bare = {k: v for k, v in receipt.items() if k != "signature"}  # some sign a receipt with a program of their own
    if files.get(_sha256(receipt)) is not None or files.get(_sha256(bare)) is False:
        return found
    at = _time(receipt["written"])
    if at is None:
        found.append(("written", "it is no time"))
    elif at < entry.written.replace(microsecond=0):
        found.append(("written", f"its head was written later, at {entry.written:%Y-%m-%d %H:%M:%S}"))
    unsigned = "signature" not in receipt and True in files.values()  # the rest may be as it was
    if files and not found and not unsigned:
        found.append(("file", f"the chain recorded one with the SHA-256 {next(iter(files))[:12]}"))
    return found


def _sha256(receipt: dict[str, Any]) -> str:
    return hashlib.sha256(text_of(receipt).encode("utf-8", "surrogatepass")).hexdigest()


def _time(text: object) -> datetime | None:
    """The time that a receipt says, in UTC; None for what is no time."""
    try:
        at = datetime.fromisoformat(str(text))
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


def _other_registrations(
    con: DuckDBPyConnection, listed: list[dict[str, Any]], entry: ledger.Entry, gone: Collection[str]
) -> Iterator[tuple[str, str]]:
    """What ``listed`` says of registrations, and the chain did not hold at ``entry``."""
    held = _registrations_at(con, entry)
    rows = con.execute("SELECT hash, hypothesis, registered FROM registration").fetchall()
    known = {key: (name, at) for key, name, at in rows}
    now = dict(ledger.digests(con, "registration", list(held)))
    hashes = [r["hash"] for r in listed]
    for key in dict.fromkeys(hashes):
        if key not in held and key not in gone:
            yield "registrations", f"{key[:12]} was not registered at its head"
        elif hashes.count(key) > 1:
            yield "registrations", f"{key[:12]} is listed twice"
    for key in held:
        if key not in hashes:
            yield "registrations", f"{key[:12]} was registered at its head, and is not listed"
    for r in listed:
        if r["hash"] not in held or r["hash"] not in known:
            continue
        name, at = known[r["hash"]]
        if "hypothesis" in r and r["hypothesis"] != name:
            yield "registrations", f"{r['hash'][:12]} is {name}"
        said = r.get("registered", at.isoformat())
        # A merge may have found an earlier time for a text that was registered elsewhere too.
        merged = held[r["hash"]] != now.get(r["hash"])
        earlier = merged and isinstance(said, str) and at.isoformat() <= said <= entry.written.isoformat()
        if said != at.isoformat() and not earlier:
            yield "registrations", f"{r['hash'][:12]} was registered {at:%Y-%m-%d %H:%M:%S}"


def _registrations_at(con: DuckDBPyConnection, entry: ledger.Entry) -> dict[str, str]:
    """The registrations that the history held when ``entry`` was written, with the digests of their rows."""
    query = (
        "SELECT key, arg_max(digest, sequence) FROM ledger_item WHERE part = 'registration' AND branch = ? AND sequence <= ?"
        " GROUP BY key ORDER BY key"
    )
    found = con.execute(query, [entry.branch, entry.sequence]).fetchall()
    return {key: digest for key, digest in found if digest != ledger.NO_ROWS}


def cells_at(con: DuckDBPyConnection, branch: int, sequence: int) -> int:
    """How many cells had an outcome when the entry was written."""
    query = "SELECT count(DISTINCT key) FROM ledger_item WHERE part = 'cell' AND branch = ? AND sequence <= ?"
    return int(con.execute(query, [branch, sequence]).fetchall()[0][0])


def recorded(con: DuckDBPyConnection) -> list[dict[str, Any]]:
    """The receipts that were written from this history: time, head, number of cells then, SHA-256 of the file, signer."""
    return [
        {"written": e.written, **e.summary} for e in ledger.entries(con, "kind = 'receipt' ORDER BY branch, sequence")
    ]


def before_data(con: DuckDBPyConnection) -> dict[str, Earlier]:
    """The first receipt from before the data, by the hash of the registration that it holds; absent where there is none."""
    return {key: Earlier(**found) for key, found in con.execute(BEFORE_DATA).fetchall()}


def words_of(receipt: Earlier | None) -> str:
    """What a reader may know from ``receipt``: that the text came first, as far as this file says, and who can check it."""
    if receipt is None:
        return (
            "no receipt from before the data is recorded: what this file says about its times rests on the file alone"
        )
    signed = f", signed by {receipt.signed_by}" if receipt.signed_by else ", not signed"
    return (
        f"a receipt from before the data was written {receipt.written} UTC (SHA-256 {receipt.sha256[:12]}{signed}):"
        " orledger verify --receipt FILE checks it"
    )


def signer(receipt: dict[str, Any], key: Path | None = None) -> str:
    """The fingerprint of the key that signed ``receipt``, as ssh-keygen prints it; VerificationError when it does not hold."""
    from importlib.util import find_spec

    if find_spec("cryptography") is None:
        raise UsageError("checking a signature needs the package cryptography", hint=NEEDED)
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    signature = receipt.get("signature")
    if not isinstance(signature, dict):
        raise VerificationError("the receipt is not signed")
    try:
        public = serialization.load_ssh_public_key(str(signature["public_key"]).encode())
        if not isinstance(public, Ed25519PublicKey):
            raise VerificationError("the key in the receipt is not an Ed25519 key")
        text = canonical({k: v for k, v in receipt.items() if k != "signature"})
        public.verify(base64.b64decode(signature["signature"], validate=True), text.encode())
    except (InvalidSignature, UnsupportedAlgorithm, KeyError, ValueError, TypeError) as error:
        raise VerificationError(f"the receipt is not what was signed ({type(error).__name__})") from error
    if key is not None:
        require_file(key)
        try:
            wanted = serialization.load_ssh_public_key(key.read_bytes())
        except (OSError, ValueError, UnsupportedAlgorithm) as error:
            raise UsageError(f"{key} is not a public key: {error}", hint="a file such as id_ed25519.pub") from error
        if not isinstance(wanted, Ed25519PublicKey) or _line(wanted) != _line(public):
            raise VerificationError(f"signed by {_fingerprint(public)}, which is not the key in {key}")
    return _fingerprint(public)


def _signed(receipt: dict[str, Any], key: Path) -> dict[str, str]:
    from importlib.util import find_spec

    if find_spec("cryptography") is None:
        raise UsageError("signing needs the package cryptography", hint=NEEDED)
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    require_file(key)
    raw = key.read_bytes()
    load = serialization.load_ssh_private_key if b"OPENSSH" in raw else serialization.load_pem_private_key
    try:
        private = load(raw, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UsageError(
            f"{key} cannot be used as a private key: {error}",
            hint="an Ed25519 key without a passphrase (ssh-keygen -t ed25519), or sign the file with ssh-keygen -Y sign",
        ) from error
    if not isinstance(private, Ed25519PrivateKey):
        raise UsageError(f"{key} is not an Ed25519 key", hint="ssh-keygen -t ed25519 makes one")
    made = private.sign(canonical(receipt).encode())
    return {
        "algorithm": "ed25519",
        "public_key": _line(private.public_key()),
        "signature": base64.b64encode(made).decode(),
    }


def _line(public: Ed25519PublicKey) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def _fingerprint(public: Ed25519PublicKey) -> str:
    digest = hashlib.sha256(base64.b64decode(_line(public).split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")
