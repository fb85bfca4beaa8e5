"""The documentation does what it says: code runs, links lead somewhere, names exist."""

from __future__ import annotations

import doctest
import functools
import importlib
import re
from pathlib import Path

import click
import pytest
from doc_pages import PAGES, ROOT, blocks, invoke, named, with_blocks

from orledger.cli import EXIT_CODES, main

GENERATED = {"commands.md", "database.md"}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.pages if named(page) == "docs/tutorial.md" else [], id=named(page))
        for page in with_blocks("python")
    ],
)
def test_the_python_of_a_page_runs(page: Path, desk: Path) -> None:
    """Block after block in one namespace; blocks with prompts are doctests and must print what they show."""
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        if block.file is not None:
            continue
        where = f"{named(page)}:{block.line}"
        if ">>> " in block.text:
            test = doctest.DocTestParser().get_doctest(block.text, names, where, str(page), block.line)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            report: list[str] = []
            runner.run(test, out=report.append, clear_globs=False)
            assert runner.failures == 0, "".join(report)
            names |= test.globs
        else:
            exec(compile(block.text, where, "exec"), names)


@pytest.mark.parametrize("page", with_blocks("sql"), ids=named)
def test_the_queries_of_a_page_run(page: Path, desk: Path) -> None:
    for block in blocks(page, "sql"):
        if block.file is None:
            for query in filter(str.strip, block.text.split(";")):
                done = invoke("sql", query)
                assert done.exit_code == 0, f"{named(page)}:{block.line}: {done.output}"


def test_blocks_that_show_a_file_show_the_file() -> None:
    shown = [block for page in PAGES for block in blocks(page) if block.file is not None]
    assert shown
    for block in shown:
        assert block.text == (ROOT / str(block.file)).read_text(encoding="utf-8"), (
            f"{block.file} in {named(block.page)}"
        )


def test_the_example_of_the_registry_is_a_hypothesis() -> None:
    """The blocks of the page, one after the other, are one file that parses."""
    from orledger.audit.registry.reading import parse_hypothesis

    text = "".join(block.text for block in blocks(ROOT / "docs" / "registry.md", "toml"))
    found = parse_hypothesis(text, "registry.md")
    assert {c.id for c in found.comparisons} == {"rmse/released", "rmse/ml2"}
    assert [c.id for c in found.claims] == ["tracks-oracle"]


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", t.lower()).replace(" ", "-") for t in titles}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    lost = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            lost.append(target)
    assert lost == []


def test_every_page_is_on_the_map() -> None:
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert [p.name for p in (ROOT / "docs").glob("*.md") if p.name != "index.md" and f"({p.name})" not in text] == []


def test_every_command_has_its_section() -> None:
    """The page of commands names each command and subcommand of the program."""
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    context = click.Context(main, info_name="orledger")
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert f"\n## orledger {name}\n" in text
        if isinstance(command, click.Group):
            for inner in command.list_commands(click.Context(command)):
                assert f"\n## orledger {name} {inner}\n" in text


def test_every_exit_code_is_explained() -> None:
    text = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    codes = re.findall(r"^  (\d+) ", EXIT_CODES, re.MULTILINE)
    assert len(codes) >= 9
    assert [c for c in codes if not re.search(rf"^\| (?:\d+, )?{c}\b", text, re.MULTILINE)] == []


def resolve(name: str) -> object:
    """The object behind a dotted name that starts with a module."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        return functools.reduce(getattr, parts[cut:], found)
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in GENERATED], ids=named)
def test_names_and_files_that_a_page_mentions_exist(page: Path) -> None:
    """Dotted names of the package in code quotes can be imported, and paths in code quotes are there."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    quoted = re.findall(r"`([^`\n]+)`", text)
    for name in quoted:
        if re.fullmatch(r"orledger(\.\w+)+", name):
            resolve(name)
    paths = [
        q
        for q in quoted
        if re.fullmatch(r"(?:audit|benchmarks|docs|recovery|reports|runners|schema|templates|tests)/[\w./*-]*", q)
    ]
    assert [q for q in paths if not list(ROOT.glob(q.rstrip("/")))] == []
