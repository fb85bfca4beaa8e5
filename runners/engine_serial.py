"""One job after the other, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.runners.engines import Done, Failed, JobFunction, Resources, outcomes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orledger.runners.cells import Job


class SerialEngine:
    """The engine to debug with, and the reference for the others."""

    def run(self, jobs: Sequence[Job], fn: JobFunction, resources: Resources) -> Iterator[Done | Failed]:  # noqa: ARG002
        """The outcomes in plan order; threads are limited by ``fn`` itself."""
        for job in jobs:
            yield from outcomes(job, fn)
