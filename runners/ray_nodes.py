"""The nodes of a Ray cluster: whether each has this package and the data, asked before anything is computed; and its head."""

from __future__ import annotations

import hashlib
import platform
import socket
import time
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from orledger.errors import RunIncompleteError, UsageError

# Other versions of these give other numbers, or other cells; the last is what Ray itself asks for.
SAME = ("orledger", "numpy", "scipy", "torch")
ASKED_SECONDS = 120.0  # for a node to start a worker and answer
KNOCK_SECONDS = 5.0  # for the head to accept a connection
# Seconds that the head may be away: a control process that is started again by then is no loss. Ray itself ends this process,
# without a word from us, after 60.
PATIENCE = 30.0


class HeadLostError(RunIncompleteError):
    """The head's control process is gone: nothing more can be submitted or collected."""


@dataclass(frozen=True)
class Node:
    """What matters about a node: its name, versions, and the hashes of the data files it sees."""

    name: str
    versions: dict[str, str] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)


def here(data_dir: str | None) -> Node:
    """The facts of this process's machine; the files of ``data_dir`` by name, each with its SHA-256."""
    found = {"python": platform.python_version()}
    for name in SAME:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "absent"
    files = sorted(p for p in Path(data_dir).iterdir() if p.is_file()) if data_dir and Path(data_dir).is_dir() else []
    data = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in files}
    return Node(platform.node(), found, data)


def require_alike(ray: Any, data_dir: str | None) -> None:
    """Asks every node that takes work; UsageError that names the node and what it lacks or has otherwise."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ours = here(data_dir)
    ask = ray.remote(num_cpus=0, max_retries=0)(here)
    nodes = [n for n in ray.nodes() if n["Alive"] and n["Resources"].get("CPU", 0) > 0]
    asked = [
        (n, ask.options(scheduling_strategy=NodeAffinitySchedulingStrategy(n["NodeID"], soft=False)).remote(data_dir))
        for n in nodes
    ]
    until = time.monotonic() + ASKED_SECONDS
    for node, answer in asked:
        address = node["NodeManagerAddress"]
        try:
            theirs = ray.get(answer, timeout=max(1.0, until - time.monotonic()))
        except ray.exceptions.GetTimeoutError:
            raise UsageError(
                f"the node {address} of the Ray cluster did not answer in {ASKED_SECONDS:g} seconds",
                hint="look at `ray status`; nothing was computed",
            ) from None
        except ray.exceptions.RayError as error:
            raise UsageError(
                f"the node {address} of the Ray cluster cannot run orledger: {_last_line(error)}",
                hint=f"install orledger {ours.versions['orledger']} there, with the same constraints.txt; nothing was computed",
            ) from error
        if problem := difference(ours, theirs, data_dir):
            raise UsageError(
                f"the node {theirs.name} ({address}) {problem[0]}", hint=f"{problem[1]}; nothing was computed"
            )


def difference(ours: Node, theirs: Node, data_dir: str | None) -> tuple[str, str] | None:
    """What a node has otherwise, and what to do about it; None when it may compute for us."""
    for name, version in ours.versions.items():
        if theirs.versions.get(name, "absent") != version:
            seen = theirs.versions.get(name, "absent")
            return f"has {name} {seen}, and this machine {version}", "install the same versions on every node"
    for name, digest in ours.data.items():
        if theirs.data.get(name) != digest:
            what = "does not have" if name not in theirs.data else "has another"
            return (
                f"{what} {Path(data_dir or '') / name}",
                "give a --data-dir that every node sees, or copy the folder there",
            )
    return None


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


class HeadNode:
    """The head's control process, knocked at now and then; ``require`` raises once it has been away for too long."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.address, self.place = address, (host, int(port))
        self.seen = self.knocked = time.monotonic()

    def look(self, every: float) -> None:
        """The same as ``require``, and nothing when the last knock was less than ``every`` seconds ago."""
        if time.monotonic() - self.knocked >= every:
            self.require()

    def require(self) -> None:
        """HeadLostError when nothing has listened at the head for ``PATIENCE`` seconds."""
        self.knocked = time.monotonic()
        try:
            socket.create_connection(self.place, timeout=KNOCK_SECONDS).close()
            self.seen = time.monotonic()
        except OSError as error:
            if time.monotonic() - self.seen >= PATIENCE:
                raise HeadLostError(
                    f"the head of the Ray cluster at {self.address} is gone: {error}",
                    hint="what was stored is kept; start the cluster again, and the same command resumes",
                ) from error
