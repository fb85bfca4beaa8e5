"""What ``--force`` writes over is kept beside: the files of an earlier reading of a table, and the database that was made of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from orledger.cli_options import warn
from orledger.cli_output import write_file, writing_to
from orledger.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from orledger.audit.importing.mapping import Mapping


def put(file: Path, text: str) -> None:
    """Writes ``text`` to ``file``; another text that was there is kept beside it, which is said."""
    if file.is_file() and file.read_bytes() != text.encode():
        warn(f"{file} is written again; what it said is in {_aside(file)}")
    write_file(file, text)


def same_cells(one: Mapping, other: Mapping) -> bool:
    """Whether two mappings make the same cells and metrics of a table; on which scale its numbers are is asked and not stored."""
    bare = (replace(m, metrics=tuple(replace(x, scale=None) for x in m.metrics)) for m in (one, other))
    return next(bare) == next(bare)


def set_aside(db: Path, study: str) -> None:
    """Moves a database beside itself whose ``study`` was read from its table in another way: it begins anew, and its trace is kept.

    A database that holds more than that, or what was registered to be confirmed, is left alone, and that is an error.
    """
    from orledger.audit.registry.reading import registered_hypothesis
    from orledger.schema.reading import open_results

    with open_results(db) as results:
        others = results.sql("SELECT DISTINCT case_name FROM all_cells").to_series().to_list()
        texts = results.sql("SELECT text, file FROM registration").rows()
    promised = [h.id for h in (registered_hypothesis(*row) for row in texts) if h.mode == "registered"]
    holds = [f"the study {o}" for o in sorted(others) if o != study] + [
        f"the registered hypothesis {p}" for p in promised
    ]
    if holds:
        raise UsageError(
            f"{db} holds {holds[0]}, and another reading of the table does not go with its cells",
            hint="--db FILE begins another database and leaves this one as it is",
        )
    log = db.with_name(f"{db.name}.wal")
    kept = _aside(db)
    if log.exists():
        log.replace(kept.with_name(f"{kept.name}.wal"))
    warn(
        f"{db} begins anew, since the table is read in another way; its cells and audits, which were looks at these results, are in {kept}"
    )


def _aside(file: Path) -> Path:
    """``file`` moved to the first name with .bak behind it that is free."""
    names = (file.with_name(f"{file.name}.bak{n if n > 1 else ''}") for n in count(1))
    kept = next(n for n in names if not n.exists())
    with writing_to(kept):
        return file.replace(kept)
