"""A mutant in memory is the mutant: whoever holds a function calls the new code, and what an import computes is not touched."""

import gc
import importlib.util
import sys
from functools import lru_cache, partial
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from swapping import in_memory, statement, swap, swappable

TEXT = """
LIMIT = 1
TWICE = [2 * x for x in range(3)]

def plain(x):
    return x + LIMIT

def outer(y):
    def inner(x):
        return x - y
    return inner

class Thing:
    size = 2

    def grow(self, by=1):
        return self.size + by
"""


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("x + LIMIT", "x - LIMIT", True),
        ("x - y", "x + y", True),
        ("self.size + by", "self.size * by", True),
        ("LIMIT = 1", "LIMIT = 2", False),
        ("2 * x", "3 * x", False),
        ("size = 2", "size = 3", False),
        ("by=1", "by=2", False),
        ("return x - y", "return x", False),
    ],
)
def test_only_bodies_of_functions_can_be_exchanged(before, after, expected):
    """The last one closes over nothing any more, and a function keeps its closure."""
    assert swappable(TEXT, TEXT.replace(before, after, 1)) is expected


def test_everybody_who_holds_a_function_calls_the_new_code(tmp_path):
    path = tmp_path / "victim.py"
    path.write_text(TEXT, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("victim", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    held, cached, bound, closed = module.plain, lru_cache(module.plain), partial(module.plain, 5), module.outer(3)
    after = TEXT.replace("x + LIMIT", "x - LIMIT").replace("x - y", "x * y").replace("self.size + by", "self.size * by")
    assert (held(5), cached(5), bound(), closed(5), module.Thing().grow()) == (6, 6, 6, 2, 3)
    gc.freeze()  # as conftest.py does with what was collected
    assert swap(in_memory(str(tmp_path))[str(path)], str(path), after) == 4
    assert (held(5), cached(4), bound(), closed(5), module.outer(3)(5), module.Thing().grow()) == (4, 3, 4, 15, 15, 2)


def test_the_lines_of_a_statement():
    text = "def f(\n    a,\n):\n    x = (\n        a\n    )\n    if x:\n        return 1\n    return 2\n"
    assert [list(statement(text, line)) for line in (2, 5, 7, 8)] == [[1, 2, 3], [4, 5, 6], [7], [8]]
