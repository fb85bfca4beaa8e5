"""What reaches a person's screen: names that would turn the text around them are shown as their code points."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from orledger.wording import visible

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Shown:
    """A text stream whose texts are made visible; bytes, for programs, go through its ``buffer`` as they are."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(visible(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def turning_names_visible() -> Iterator[None]:
    """While inside, whatever is printed as text is made visible first."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Shown(before[0]), _Shown(before[1])
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
