"""What is made once and kept: the first who asks makes it, others who ask for the same wait, and nobody else does."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

Made = TypeVar("Made")
NOTHING: Any = object()


class Kept(Generic[Made]):
    """Things by their keys, at most ``most`` of them: the one that was longest not asked for makes room."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self._places: OrderedDict[Hashable, _Place] = OrderedDict()
        self._lock = threading.Lock()  # held for a moment only, never while something is made

    def get(self, key: Hashable, make: Callable[[], Made], worth: Callable[[Made], bool] = lambda _: True) -> Made:
        """What stands at ``key``, made by ``make`` when nothing does; what is not ``worth`` it is not kept, nor is an error."""
        with self._lock:
            place = self._places.setdefault(key, _Place())
            self._places.move_to_end(key)
        with place.lock:
            if place.value is NOTHING:
                try:
                    place.value = make()
                finally:
                    self._tidy(key, keep=place.value is not NOTHING and worth(place.value))
            found: Made = place.value
            return found

    def _tidy(self, key: Hashable, *, keep: bool) -> None:
        """Forgets ``key`` unless it is to be kept; then the oldest, when there are too many."""
        with self._lock:
            if not keep:
                self._places.pop(key, None)
            elif self.most is not None and len(self._places) > self.most:
                self._places.popitem(last=False)

    def keys(self) -> list[Hashable]:
        """The keys, the one that was longest not asked for first."""
        with self._lock:
            return list(self._places)


class _Place:
    """One thing, and the lock of those who wait for it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.value: Any = NOTHING
