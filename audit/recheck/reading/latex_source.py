"""LaTeX source in one piece: included files in place, comments gone, macros collected, every line with its file and number.

Written here because the data need little of LaTeX (no layout, no packages) and two things that parsers of it do not give
together: macros expanded and the source line of every character.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orledger.audit.recheck.reading.document import readable
from orledger.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

_INCLUDE = re.compile(r"\\(?:input|include|subfile|subfileinclude)\s*\{([^{}]+)\}|\\input\s+([^\s{}\\]+)")
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
_VERBATIM = re.compile(r"\\begin\{(verbatim\*?|lstlisting|minted|comment|filecontents\*?)\}.*?\\end\{\1\}", re.S)
_ABOVE = 3  # folders above the paper's from which inclusions may be named
_DEEPEST = 20


@dataclass(frozen=True)
class Macro:
    """A macro of the author's: how many arguments, the default of the first when it is optional, and the body."""

    arguments: int
    default: str | None
    body: str


@dataclass(frozen=True)
class LatexSource:
    """The text of a paper with the origin of each line, its macros, and what could not be read."""

    text: str
    starts: tuple[int, ...]
    origins: tuple[tuple[str, int], ...]
    macros: dict[str, Macro]
    notes: tuple[str, ...]

    def origin(self, offset: int) -> tuple[str, int]:
        """File and line of a character."""
        return self.origins[max(0, bisect.bisect_right(self.starts, offset) - 1)] if self.origins else ("", 0)


def read_source(path: Path) -> LatexSource:
    """The source at `path` with what it includes from its own folder."""
    notes: list[str] = []
    lines = _lines(path, path.parent.resolve(), notes, ())
    text = "\n".join(line for line, _, _ in lines)
    text = _VERBATIM.sub(lambda m: "\n" * m[0].count("\n"), text)  # line numbers stay
    starts, position = [], 0
    for line in text.split("\n"):
        starts.append(position)
        position += len(line) + 1
    origins = tuple((file, number) for _, file, number in lines)
    return LatexSource(text, tuple(starts), origins, macros_of(text), tuple(notes))


def _lines(path: Path, root: Path, notes: list[str], above: tuple[str, ...]) -> list[tuple[str, str, int]]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", hint="name a file that exists") from error
    name = path.resolve().relative_to(root).as_posix()
    text, endless = readable(text, name)
    notes.extend(endless)
    found: list[tuple[str, str, int]] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = _COMMENT.sub(r"\1", raw)
        match = _INCLUDE.search(line)
        inner = _included(root, match, (*above, name), f"{name}:{number}", notes) if match else None
        if match is None or inner is None:
            found.append((line, name, number))
            continue
        found.append((line[: match.start()], name, number))
        found.extend(inner)
        found.append((line[match.end() :], name, number))
    return found


def _included(
    root: Path, match: re.Match[str], above: tuple[str, ...], where: str, notes: list[str]
) -> list[tuple[str, str, int]] | None:
    wanted = (match[1] or match[2]).strip()
    path = _file(root, wanted, above[-1])
    if path is None:
        outside = not (root / wanted).resolve().is_relative_to(root)
        why = "lies outside the folder of the paper and was not read" if outside else "was not found"
        notes.append(f"{where}: {wanted} {why}")
        return None
    if len(above) > _DEEPEST:
        notes.append(f"{where}: {wanted} stands more than {_DEEPEST} files deep and was not read")
        return None
    if path.relative_to(root).as_posix() in above:
        notes.append(f"{where}: {wanted} includes itself and was not read again")
        return None
    return _lines(path, root, notes, above)


def _file(root: Path, wanted: str, by: str) -> Path | None:
    """The file of the paper's folder that an inclusion means.

    It is named from that folder, from the folder of the file that includes it, or from a folder above in which the paper is
    compiled; what lies outside the paper's own folder is not read, whoever names it.
    """
    for base in (root, (root / by).parent, *list(root.parents)[:_ABOVE]):
        for name in (wanted, f"{wanted}.tex"):
            path = (base / name).resolve()
            if path.is_relative_to(root) and path.is_file():
                return path
    return None


def group_end(text: str, start: int, opening: str = "{", closing: str = "}") -> int:
    """The position after the bracket that closes the one at `start`; the end of the text when none does."""
    depth, i = 0, start
    while i < len(text):
        if text[i] == "\\":
            i += 2
            continue
        if text[i] == opening:
            depth += 1
        elif text[i] == closing:
            depth -= 1
            if depth == 0:
                return i + 1
        i += 1
    return len(text)


def skip_space(text: str, i: int) -> int:
    """The next position that is no space."""
    while i < len(text) and text[i] in " \t\n":
        i += 1
    return i


_DEFINITION = re.compile(
    r"\\(?:(?:re|provide)?newcommand|renewcommand|providecommand|DeclareRobustCommand)\s*\*?\s*(?:\{\s*\\([A-Za-z@]+)\s*\}|\\([A-Za-z@]+))"
)
_DEF = re.compile(r"\\(?:g|e|x)?def\s*\\([A-Za-z@]+)\s*((?:#\d)*)\s*(?=\{)")
_OPERATOR = re.compile(r"\\DeclareMathOperator\s*\*?\s*\{\s*\\([A-Za-z@]+)\s*\}\s*(?=\{)")


def macros_of(text: str) -> dict[str, Macro]:
    """The macros that a text defines, the last definition of each."""
    found: dict[str, Macro] = {}
    for match in _DEFINITION.finditer(text):
        i, count, default = skip_space(text, match.end()), 0, None
        number = re.match(r"\[\s*(\d)\s*\]", text[i : i + 8])
        if number:
            count, i = int(number[1]), skip_space(text, i + number.end())
            if i < len(text) and text[i] == "[":
                end = group_end(text, i, "[", "]")
                default, i = text[i + 1 : end - 1], skip_space(text, end)
        if i < len(text) and text[i] == "{":
            found[match[1] or match[2]] = Macro(count, default, text[i + 1 : group_end(text, i) - 1])
    for match in _DEF.finditer(text):
        end = group_end(text, match.end())
        found[match[1]] = Macro(len(match[2]) // 2, None, text[match.end() + 1 : end - 1])
    for match in _OPERATOR.finditer(text):
        found[match[1]] = Macro(0, None, text[match.end() + 1 : group_end(text, match.end()) - 1])
    return found
