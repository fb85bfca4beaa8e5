"""A mutant put into a program that is already imported: the code of its functions is exchanged in place.

Everybody who holds one of the functions, under whatever name, then calls the mutant. What is computed while a module
is imported (constants, defaults, bodies of classes) cannot be exchanged so; such a mutant needs a fresh import."""

from __future__ import annotations

import ast
import gc
from inspect import CO_OPTIMIZED
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

Key = tuple[int, str]
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


def functions(code: CodeType) -> dict[Key, CodeType]:
    """The functions of a module by their line and name, nested ones too."""
    found: dict[Key, CodeType] = {}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & CO_OPTIMIZED:
                found[(inner.co_firstlineno, inner.co_qualname)] = inner
            found.update(functions(inner))
    return found


def _imported(code: CodeType) -> list[object]:
    """What runs during the import: the code of the module, of its classes and of their comprehensions, without the functions."""
    own = [c for c in code.co_consts if not isinstance(c, CodeType)]
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    run = [c for c in inner if not c.co_flags & CO_OPTIMIZED or c.co_name in COMPREHENSIONS]
    return [code.co_code, repr(own), code.co_names, *[_imported(c) for c in run]]


def swappable(before: str, after: str) -> bool:
    """Whether the two texts of a module differ inside functions only, and in a way that can be exchanged."""
    old, new = (compile(text, "module", "exec") for text in (before, after))
    if _imported(old) != _imported(new):
        return False
    mine, theirs = functions(old), functions(new)
    same = mine.keys() == theirs.keys()
    return same and all(mine[k].co_freevars == theirs[k].co_freevars for k in mine)


def in_memory(folder: str) -> dict[str, list[FunctionType]]:
    """The functions that were defined in files under ``folder``, by the file."""
    gc.unfreeze()  # what is frozen, as after a collection of tests, is not among the objects of the collector
    found: dict[str, list[FunctionType]] = {}
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename.startswith(folder):
            found.setdefault(thing.__code__.co_filename, []).append(thing)
    return found


def swap(held: Iterable[FunctionType], path: str, after: str) -> int:
    """Gives the functions ``held``, defined in the file ``path``, the code of the text ``after``; how many there were."""
    new, count = functions(compile(after, path, "exec")), 0
    for thing in held:
        code = new.get((thing.__code__.co_firstlineno, thing.__code__.co_qualname))
        if code is not None and len(code.co_freevars) == len(thing.__closure__ or ()):
            thing.__code__ = code
            count += 1
    return count


def statement(text: str, line: int) -> range:
    """The lines of the statement that has ``line`` in it; of a compound one, its head."""
    best = range(line, line + 1)
    size = None
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.stmt) or node.end_lineno is None:
            continue
        body = getattr(node, "body", None)
        last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno
        last = max(last, node.lineno)
        if node.lineno <= line <= last and (size is None or last - node.lineno < size):
            best, size = range(node.lineno, last + 1), last - node.lineno
    return best
