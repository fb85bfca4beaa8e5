"""Random generators named by what they are for: equal names give equal streams, on any worker, in any order."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from orledger.runners.cells import Scalar, canonical

if TYPE_CHECKING:
    import torch


def seed_of(*parts: Scalar) -> int:
    """A 63-bit integer from the canonical JSON of ``parts``; the name of a stream, such as ("split", "diabetes", 0)."""
    return int.from_bytes(hashlib.sha256(canonical(list(parts)).encode()).digest()[:8], "big") >> 1


def generator(*parts: Scalar) -> np.random.Generator:
    """The NumPy generator of the stream named by ``parts``."""
    return np.random.default_rng(seed_of(*parts))


def torch_generator(*parts: Scalar, device: str = "cpu") -> torch.Generator:
    """The torch generator of the stream named by ``parts``; draw on the CPU and move, so that devices agree."""
    import torch

    return torch.Generator(device=device).manual_seed(seed_of(*parts))
