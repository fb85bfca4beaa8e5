"""A cell is the unit of computation, of storage and of resume; this module says what one is and how it is named."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from orledger.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

# Part of every cell id: change it whenever canonical() or the meaning of a spec changes.
HASH_VERSION = "1"

Scalar = str | int | float | bool


def canonical(value: Any) -> str:
    """The one JSON text of ``value``: sorted keys, no spaces, shortest round-trip floats; non-finite numbers are refused."""

    def checked(v: Any, where: str) -> Any:
        if isinstance(v, dict):
            return {str(k): checked(x, f"{where}.{k}") for k, x in v.items()}
        if isinstance(v, (list, tuple)):
            return [checked(x, f"{where}[{i}]") for i, x in enumerate(v)]
        if isinstance(v, float) and not math.isfinite(v):
            raise UsageError(f"a cell spec cannot hold {v!r} (at {where or 'the top'})")
        if v is None or isinstance(v, (str, int, float, bool)):
            return v
        raise UsageError(f"a cell spec cannot hold a {type(v).__name__} (at {where or 'the top'}): {v!r}")

    return json.dumps(checked(value, ""), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any, length: int = 24) -> str:
    """The first ``length`` hexadecimal digits of the SHA-256 of the canonical JSON of ``value``."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:length]


@dataclass(frozen=True)
class Cell:
    """One planned unit: what identifies it (``keys``) and everything else its numbers depend on (``settings``).

    The id is a hash of all of it, so a changed setting is another cell. The device is not part of the id: the same
    cell computed on two devices is a portability measurement, and ``orledger compare`` matches the two by id.
    """

    case: str
    block: str
    keys: Mapping[str, Scalar]
    settings: Mapping[str, Any] = field(default_factory=dict)
    gpu: bool = False

    @property
    def spec(self) -> dict[str, Any]:
        """The cell as plain data; two cells with equal specs are the same cell."""
        return {"case": self.case, "block": self.block, "keys": dict(self.keys), "settings": dict(self.settings)}

    @cached_property
    def id(self) -> str:
        """24 hexadecimal digits naming the spec under the current hash version."""
        return digest({"hash_version": HASH_VERSION, **self.spec})

    @property
    def name(self) -> str:
        """A short name for people: ``b/main/diabetes/shift/0/0.25``."""
        return "/".join([self.case, self.block, *(str(v) for v in self.keys.values())])


@dataclass(frozen=True)
class Job:
    """Cells that are computed together, in this order; the composition is fixed by the plan, never by what is left to do.

    A resumed run recomputes a whole job when any of its cells is missing, so a cell's records cannot depend on which of
    its neighbours were already stored.
    """

    cells: tuple[Cell, ...]

    @cached_property
    def id(self) -> str:
        """A name for the job, from the ids of its cells."""
        return digest([c.id for c in self.cells])


@dataclass(frozen=True)
class Context:
    """What a cell may know about where it runs; nothing here may change a record except the device and its arithmetic."""

    device: str = "cpu"
    threads: int = 1
    data_dir: str | None = None
    cache_dir: str | None = None
    offline: bool = False
    packages: Mapping[str, str] = field(default_factory=dict)  # case -> package, for studies that are not installed
    path: str = ""  # a folder to import them from
