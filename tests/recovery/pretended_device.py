"""A device that is not the CPU, without owning one: for tests of code that takes torch tensors or a device.

The pretended device reports itself as torch's ``meta`` device and keeps its numbers on the CPU. Every operation passes a
guard: it may see tensors of one device only, as on a GPU (single numbers, copies and CPU indices aside, which CUDA allows
as well), and what lies on the device reaches NumPy through ``.cpu()`` or not at all. A tensor made on the CPU by a
forgotten ``device=`` therefore fails here as it would fail there, and what passes gives numbers that can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

THERE = torch.device("meta")
ATEN = torch.ops.aten
# What CUDA accepts although not everything is on it: copies between devices, and indices on the CPU of what is on the device.
COPIES = {ATEN.to, ATEN._to_copy, ATEN.copy_}
INDEXED = {ATEN.index, ATEN.index_put, ATEN.index_put_}


class MixedDevicesError(RuntimeError):
    """An operation saw tensors of two devices."""


class Elsewhere(torch.Tensor):
    """A tensor that says it is on the other device; ``inner`` holds its numbers."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Elsewhere:
        layout = {"strides": inner.stride(), "storage_offset": inner.storage_offset(), "dtype": inner.dtype}
        return torch.Tensor._make_wrapper_subclass(cls, inner.size(), device=THERE, **layout)

    def __init__(self, inner: torch.Tensor) -> None:
        assert inner.device.type == "cpu", "numbers were lost on the way"
        self.inner = inner

    def __repr__(self) -> str:
        return f"Elsewhere({self.inner})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return guarded(func, args, kwargs or {})


def guarded(func, args, kwargs):
    """The operation on the inner tensors, its results on the device that torch would put them on."""
    tensors = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, torch.Tensor)]
    there = [x for x in tensors if isinstance(x, Elsewhere)]
    assert all(isinstance(x, Elsewhere) for x in tensors if x.device == THERE), f"{func}: numbers were lost on the way"
    here = [x for x in tensors if not isinstance(x, Elsewhere) and x.dim() > 0]
    if func.overloadpacket in INDEXED and isinstance(args[0], Elsewhere):
        here = [x for x in args[2:3] if not isinstance(x, Elsewhere) and x.dim() > 0]
    if there and here and func.overloadpacket not in COPIES:
        raise MixedDevicesError(
            f"{func}: shapes {[tuple(x.shape) for x in there]} there, {[tuple(x.shape) for x in here]} here"
        )
    asked = kwargs.get("device")
    if func is ATEN.to.device:  # in inference mode torch asks for a device in this way
        stays, args = torch.device(args[1]) == THERE, (args[0], torch.device("cpu"), *args[2:])
    elif asked is not None:
        stays, kwargs = torch.device(asked) == THERE, {**kwargs, "device": torch.device("cpu")}
    elif func.overloadpacket in COPIES | INDEXED:
        stays = isinstance(args[0], Elsewhere)
    else:
        stays = bool(there)
    wrappers = {id(x.inner): x for x in there}  # in-place and out= operations return what they were given
    args, kwargs = tree_map(lambda x: x.inner if isinstance(x, Elsewhere) else x, (args, kwargs))
    out = func(*args, **kwargs)
    if not stays:
        return out
    return tree_map(lambda x: wrappers[id(x)] if id(x) in wrappers else _moved(x), out)


def _moved(x):
    return Elsewhere(x) if isinstance(x, torch.Tensor) else x


class Operations(TorchDispatchMode):
    """Sends every operation through the guard, those that make tensors included."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return guarded(func, args, kwargs or {})


class Constructors(TorchFunctionMode):
    """Builds tensors from Python data on the CPU and moves them: torch itself would drop the numbers on its way to ``meta``."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is torch.as_tensor and isinstance(args[0], torch.Tensor):
            return args[0].to(**kwargs) if kwargs else args[0]
        if func in (torch.tensor, torch.as_tensor) and kwargs.get("device") is not None:
            device = kwargs.pop("device")
            return func(*args, **kwargs).to(device)
        if func is torch.Tensor.new_tensor and isinstance(args[0], Elsewhere):
            return torch.tensor(args[1], dtype=kwargs.get("dtype", args[0].dtype)).to(THERE)
        if func is torch.Tensor.tolist:
            return args[0].cpu().tolist() if isinstance(args[0], Elsewhere) else func(*args)
        if func in (torch.Tensor.__getitem__, torch.Tensor.__setitem__) and isinstance(args[0], Elsewhere):
            parts = args[1] if isinstance(args[1], tuple) else (args[1],)
            args = (args[0], tuple(torch.tensor(p) if isinstance(p, list) else p for p in parts), *args[2:])
        return func(*args, **kwargs)


@contextmanager
def pretended() -> Iterator[str]:
    """The name of the pretended device, under the guard."""
    with Constructors(), Operations():
        yield THERE.type
