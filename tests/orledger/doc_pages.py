"""The pages of the documentation, taken apart: fenced blocks, the remarks in front of them, and their commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner, Result

from orledger.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]
SMALL_PRESET = Path(__file__).with_name("docs_preset.toml")


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, its language, its text, and the remark in front of it.

    ``file: x`` shows a file of the repository, ``writes: x`` is a file that the reader is to write, ``makes: x`` is Python
    that makes a file for the commands of the page, ``needs: x`` are commands for which something has to be there first.
    """

    page: Path
    line: int
    language: str
    text: str
    remark: str

    def remarked(self, kind: str) -> str | None:
        return self.remark.removeprefix(f"{kind}:").strip() if self.remark.startswith(f"{kind}:") else None

    @property
    def file(self) -> str | None:
        return self.remarked("file")

    @property
    def needs(self) -> str | None:
        return self.remarked("needs")


@dataclass(frozen=True)
class Command:
    """A command of a block with the output printed below it."""

    block: Block
    text: str
    output: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text, comments=True)

    @property
    def error(self) -> str | None:
        """The message that the page prints, when it shows a command that is refused."""
        return next((line for line in self.output.splitlines() if line.startswith("error: ")), None)


def blocks(page: Path, *languages: str) -> Iterator[Block]:
    lines = page.read_text(encoding="utf-8").splitlines()
    opened, remark = None, ""
    for number, line in enumerate(lines, start=1):
        if line.startswith("```"):
            if opened is None:
                opened = number
            else:
                language = lines[opened - 1].removeprefix("```").strip()
                if not languages or language in languages:
                    yield Block(page, opened, language, "\n".join(lines[opened : number - 1]) + "\n", remark)
                opened, remark = None, ""
        elif opened is None and line.strip():
            found = re.fullmatch(r"<!-- (.*) -->", line.strip())
            remark = found.group(1) if found else ""
    assert opened is None, f"{page.name}:{opened}: a block is not closed"


def commands(page: Path) -> list[Command]:
    found = []
    for block in blocks(page, "console", "sh"):
        if block.language == "sh":
            found += [Command(block, t, "") for t in block.text.splitlines() if t.strip() and not t.startswith("#")]
            continue
        head, *parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
        assert not head.strip(), f"{page.name}:{block.line}: output before the first command"
        found += [Command(block, *part.split("\n", 1)) for part in parts]
    return found


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def with_blocks(*languages: str) -> list[Path]:
    return [page for page in PAGES if any(True for _ in blocks(page, *languages))]


def invoke(*words: str) -> Result:
    """The command line with these words, in this process."""
    return CliRunner().invoke(main, list(words))
