"""A plan in fixed parts: several machines each compute one, and the parts merged are the whole."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orledger.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.runners.cells import Job

MOST = 100_000


def part(jobs: Sequence[Job], text: str) -> list[Job]:
    """The jobs of the part that ``text`` names, such as ``2/8``: the second of eight, counted from 1.

    A job belongs to a part by its own id, whatever else is in the plan and in whatever order; so the parts of a plan are
    disjoint, together they are the whole, and a plan that grows does not move the jobs it had.
    """
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    number, count = (int(found.group(1)), int(found.group(2))) if found else (0, 0)
    if not 1 <= number <= count <= MOST:
        raise UsageError(f"--shard {text!r}: expected I/N with I from 1 to N", hint="such as --shard 2/8")
    return [job for job in jobs if int(job.id, 16) % count == number - 1]
