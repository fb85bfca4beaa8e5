"""The documentation does what it says: commands run, code runs, links lead somewhere, names exist."""

from __future__ import annotations

import contextlib
import doctest
import functools
import importlib
import os
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
import torch
from click.testing import CliRunner, Result

from orledger.cli import EXIT_CODES, main
from orledger.runners import plan

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]
SHOWN = ("Aprofile", "Bp", "Cinv")  # figures stand for all of them here; tests/reports draws every one
GENERATED = {"commands.md", "database.md"}
LOAD_PRESET = plan.load_preset


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, its language, its text, and the remark in front of it.

    ``file: x`` shows a file of the repository, ``writes: x`` is a file that the reader is to write, ``needs: x`` are commands
    for which something has to be there first.
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


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with every case, small enough to make in seconds, and an audit in it; not to be changed."""
    path = tmp_path_factory.mktemp("docs") / "results.duckdb"
    preset = Path(__file__).with_name("docs_preset.toml")
    done = invoke("run", "all", "--preset", str(preset), "--offline", "--engine", "serial", "--db", str(path))
    assert done.exit_code == 0, done.output
    assert invoke("audit", "--db", str(path)).exit_code == 0
    return path


@pytest.fixture
def desk(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as the pages suppose it: results.duckdb, folders docs and data beside it, and presets that are small."""
    from orledger.reports import figures

    shutil.copy(small, tmp_path / "results.duckdb")
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(figures, "FIGURES", {name: figures.FIGURES[name] for name in SHOWN})
    stand_in = str(Path(__file__).with_name("docs_preset.toml"))
    monkeypatch.setattr(plan, "load_preset", lambda name: LOAD_PRESET(name if name.endswith(".toml") else stand_in))
    return tmp_path


def invoke(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def try_out(command: Command, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """Runs one command; what is wrong with it, or None."""
    program, *words = command.words
    if program == "make":
        # Continuous integration gives these to make; the tests cannot, being one of them.
        return None if command.text in (ROOT / ".ci" / "run").read_text().splitlines() else "not a command of .ci/run"
    if program == "pip":
        # Everything that the pages install is here already: pip has nothing to fetch, or the extra does not exist.
        done = subprocess.run([sys.executable, "-m", "pip", *words, "--no-index"], capture_output=True, text=True)
        problem = done.stderr + done.stdout
        return problem if done.returncode or "does not provide the extra" in problem else None
    if program != "orledger":
        return "neither orledger, make nor pip"
    if "--dry-run" in words or words[0] in ("presets", "settings"):
        # Nothing is computed, so the page may show the real thing, and must.
        with monkeypatch.context() as real:
            real.setattr(plan, "load_preset", LOAD_PRESET)
            done = invoke(*words)
        missing = [line for line in command.output.splitlines() if line not in done.output]
        return f"does not print {missing[0]!r}" if missing else judged(command, done)
    if command.block.needs == "cuda" and "cuda" in words and not torch.cuda.is_available():
        refused = invoke(*words)
        if refused.exit_code != 2 or "no GPU" not in refused.output:
            return f"without a GPU: exit code {refused.exit_code}: {refused.output}"
        words[words.index("cuda")] = "cpu"
    return judged(command, invoke(*words))


def judged(command: Command, done: Result) -> str | None:
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return f"raised {done.exception!r}"
    if command.error is not None:
        return (
            None
            if done.exit_code != 0 and command.error in done.output
            else f"expected {command.error!r}: {done.output}"
        )
    return None if done.exit_code == 0 else f"exit code {done.exit_code}: {done.output[-500:]}"


def run_page(page: Path, desk: Path, monkeypatch: pytest.MonkeyPatch, *needs: str | None) -> None:
    """The commands of the page whose needs are among ``needs``, in its order, in one folder, with the files it writes."""
    for block in blocks(page):
        if (name := block.remarked("writes")) is not None:
            (desk / name).write_text(block.text, encoding="utf-8")
    problems = [
        f"{named(page)}:{command.block.line}: {command.text}: {problem}"
        for command in commands(page)
        if command.block.needs in needs and (problem := try_out(command, monkeypatch)) is not None
    ]
    assert problems == []


@pytest.mark.parametrize("page", with_blocks("console", "sh"), ids=named)
def test_the_commands_of_a_page_run(page: Path, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page(page, desk, monkeypatch, None, "cuda")


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
def test_the_commands_for_ray_run(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="the ray extra is not installed")
    page = ROOT / "docs" / "gpu-and-ray.md"
    first = next(c for c in commands(page) if "serial.duckdb" in c.words)
    assert try_out(first, monkeypatch) is None
    run_page(page, desk, monkeypatch, "ray")
    assert invoke("compare", "serial.duckdb", "ray.duckdb", "--strict").exit_code == 0


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_command_for_a_cluster_runs(desk: Path) -> None:
    """A cluster of one machine, started as a cluster is, stands for the one of the page."""
    pytest.importorskip("ray", reason="the ray extra is not installed")
    (command,) = [c for c in commands(ROOT / "docs" / "gpu-and-ray.md") if c.block.needs == "cluster"]
    (desk / "results.duckdb").unlink()
    # A token of its own, as a cluster of several people has.
    environment = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    with cluster(environment) as address:
        places = {
            "head.example:6379": address,
            "/shared/data": str(desk / "data"),
            "paper": str(Path(__file__).with_name("docs_preset.toml")),
        }
        words = [sys.executable, "-m", "orledger", *(places.get(w, w) for w in command.words[1:])]
        done = subprocess.run(words, cwd=desk, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "30 done, 0 refused, 0 failed" in done.stdout


@contextlib.contextmanager
def cluster(environment: dict[str, str]) -> Iterator[str]:
    """The address of a Ray cluster that stays in the foreground of a process of its own and ends with it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["start", "--head", "--block", "--port", str(port), "--num-cpus", "2", "--include-dashboard", "false"]
    tool = Path(sys.executable).with_name("ray")
    head = subprocess.Popen(
        [tool, *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert head.stdout is not None
        assert any("Ray runtime started" in line for line in head.stdout), "the cluster did not start"
        yield f"127.0.0.1:{port}"
    finally:
        head.terminate()
        head.wait(timeout=60)


def test_every_need_has_its_test() -> None:
    """A new kind of need would otherwise be a way of not running a command."""
    found = {c.block.needs for page in PAGES for c in commands(page)}
    assert found == {None, "cuda", "ray", "cluster", "case d"}
    assert {c.block.page.name for page in PAGES for c in commands(page) if c.block.needs == "case d"} == {"adding.md"}


@pytest.mark.slow
def test_make_demo_ends_by_saying_where_things_are(tmp_path: Path) -> None:
    """The recipe on this checkout, with the running environment in place of a new one."""
    environment = tmp_path / "venv"
    environment.mkdir()
    (environment / "bin").symlink_to(Path(sys.executable).parent)
    (environment / "demo.stamp").touch()
    words = ["make", "demo", f"VENV={environment}", f"DEMO={tmp_path / 'demo'}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for line in re.findall(r"^The \w+ +(\S+)$", done.stdout, re.MULTILINE):
        assert Path(line).exists()
    assert "Try next:" in done.stdout


def test_make_gpu_check_says_so_where_there_is_no_gpu() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is one: run make gpu-check")
    done = subprocess.run([sys.executable, "benchmarks/gpu_check.py"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "no GPU" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("```console\n$ orledger sql 'SELECT nope'\n```", "exit code 7"),
        ("```console\n$ orledger sql 'SELECT 1'\nerror: no\n```", "expected 'error: no'"),
        ("```console\n$ orledger presets list\nsmoke    The purpose of another version\n```", "does not print"),
        ("```sh\nmake tea\n```", "not a command of .ci/run"),
        ("```sh\npip install 'orledger[tea]'\n```", "does not provide the extra"),
        ("```sh\nrm -r results.duckdb\n```", "neither orledger"),
        ("<!-- needs: cuda -->\n```sh\norledger run --device tpu\n```", "'tpu' is not one of"),
        ("<!-- needs: cuda -->\n```sh\norledger run --devices cuda\n```", "No such option"),
    ],
)
def test_a_page_that_is_wrong_is_found(
    text: str, problem: str, desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    (command,) = commands(page)
    found = try_out(command, monkeypatch)
    assert found is not None
    assert problem in found


@pytest.mark.parametrize("page", with_blocks("python"), ids=named)
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
    from orledger.audit.reading import parse_hypothesis

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
        if re.fullmatch(r"orledger(\.\w+)+", name) and "case_d" not in name:
            resolve(name)
    paths = [
        q
        for q in quoted
        if re.fullmatch(r"(?:audit|benchmarks|docs|recovery|reports|runners|schema|templates|tests)/[\w./*-]*", q)
    ]
    # The page about adding a case names files that do not exist yet.
    assert [q for q in paths if "case_d" not in q and "/d.sql" not in q and not list(ROOT.glob(q.rstrip("/")))] == []


CASE_D = """
import sys
from pathlib import Path
import orledger.runners, orledger.runners.plan as plan
from orledger.schema import migrate

examples = Path(sys.argv[1])
orledger.runners.__path__.append(str(examples))
plan.CASES += ("d",)
shipped = [*migrate.shipped_views(), migrate.SqlFile("d.sql", (examples / "case_d.views.sql").read_text())]
migrate.shipped_views = lambda: shipped
from orledger.cli import main

for line in sys.stdin.read().splitlines():
    main(eval(line), standalone_mode=False)
"""


def test_the_example_of_adding_a_case_works(tmp_path: Path) -> None:
    """The files of the page, put where the page says, run through the command line and print what the page prints."""
    page = ROOT / "docs" / "adding.md"
    told = [c for c in commands(page) if c.words[0] == "orledger"]
    assert [c.words[1] for c in told] == ["register", "run", "sql", "audit"]
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    lines = [c.words[1:] + (["--engine", "serial"] if c.words[1] == "run" else []) for c in told]
    lines += [["db", "check", "--db", "d.duckdb"], ["settings", "d", "--preset", "docs/examples/case_d.preset.toml"]]
    done = subprocess.run(
        [sys.executable, "-c", CASE_D, str(ROOT / "docs" / "examples")],
        input="\n".join(map(repr, lines)), capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for command in told:
        for line in command.output.splitlines():
            assert re.sub(r", in [\d.]+s", "", line) in re.sub(r", in [\d.]+s", "", done.stdout), line
    assert "32 content hashes verified" in done.stdout
    assert "Share of draws that the trimmed mean leaves out" in done.stdout
