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
    """Things by their keys that weigh at most ``most`` together: those that were longest not asked for make room."""

    def __init__(self, most: int | None = None, weigh: Callable[[Made], int] = lambda _: 1) -> None:
        self.most, self.weigh = most, weigh
        self._places: OrderedDict[Hashable, _Place] = OrderedDict()
        self._lock = threading.Lock()  # held for a moment only, never while something is made
        self._weight = 0

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
                    self._settle(key, place, keep=place.value is not NOTHING and worth(place.value))
            found: Made = place.value
            return found

    def _settle(self, key: Hashable, place: _Place, *, keep: bool) -> None:
        """Forgets ``key`` unless it is to be kept and not too heavy; then the oldest, as long as there is too much."""
        weight = self.weigh(place.value) if keep else 0
        with self._lock:
            if self._places.get(key) is not place:  # it had to make room while it was made
                return
            if not keep or (self.most is not None and weight > self.most):
                del self._places[key]
                return
            place.weight = weight
            self._weight += weight
            while self.most is not None and self._weight > self.most:
                _, oldest = self._places.popitem(last=False)
                self._weight -= oldest.weight

    def keys(self) -> list[Hashable]:
        """The keys, the one that was longest not asked for first."""
        with self._lock:
            return list(self._places)


class _Place:
    """One thing, and the lock of those who wait for it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.value: Any = NOTHING
        self.weight = 0
