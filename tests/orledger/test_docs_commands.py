"""Every command of the documentation is run, in the order of its page: those of the README here, all of them by ``make docs``."""

from __future__ import annotations

import base64
import contextlib
import gzip
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from click.testing import Result
from doc_pages import PAGES, ROOT, SMALL_PRESET, Command, blocks, commands, invoke, named, with_blocks

from orledger.runners import plan

LOAD_PRESET = plan.load_preset


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
    if words[0] == "study" and words[1] == "results.csv":
        # It begins a database of that name, and the one of the desk would join it with all that it holds.
        Path("results.duckdb").unlink()
    if words[:2] == ["run", "all"] and "--db" in words and not (new := Path(words[words.index("--db") + 1])).exists():
        shutil.copy(
            "results.duckdb", new
        )  # which holds those cells: the run looks at its plan, and computes none again
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
        if (name := block.remarked("makes")) is not None:
            exec(block.text, {})
            assert (desk / name).is_file()
    problems = [
        f"{named(page)}:{command.block.line}: {command.text}: {problem}"
        for command in commands(page)
        if command.block.needs in needs and (problem := try_out(command, monkeypatch)) is not None
    ]
    assert problems == []


FIRST = ("README.md",)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[] if named(page) in FIRST else pytest.mark.pages, id=named(page))
        for page in with_blocks("console", "sh")
    ],
)
def test_the_commands_of_a_page_run(page: Path, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page(page, desk, monkeypatch, None, "cuda")


@pytest.mark.ray
@pytest.mark.slow
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
            "paper": str(SMALL_PRESET),
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
    assert found == {None, "cuda", "ray", "cluster", "location-study"}
    assert {c.block.page.name for page in PAGES for c in commands(page) if c.block.needs == "location-study"} == {
        "adding.md"
    }


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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("```console\n$ orledger sql 'SELECT nope'\n```", "exit code 7"),
        ("```console\n$ orledger sql 'SELECT 1'\nerror: no\n```", "expected 'error: no'"),
        ("```console\n$ orledger presets list\nsmoke    The purpose of another version\n```", "does not print"),
        ("```sh\nmake tea\n```", "not a command of .ci/run"),
        pytest.param("```sh\npip install 'orledger[tea]'\n```", "does not provide the extra", marks=pytest.mark.pages),
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


LOCATION = """
import sys
from orledger.cli import main

for line in sys.stdin.read().splitlines():
    main(eval(line), standalone_mode=False)
"""


@pytest.fixture(scope="session")
def location(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the example study was installed as a distribution of its own."""
    source = tmp_path_factory.mktemp("source") / "location"
    shutil.copytree(ROOT / "docs" / "examples" / "location", source)
    target = tmp_path_factory.mktemp("installed")
    words = ["-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", str(target), str(source)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


@pytest.mark.pages
def test_the_example_study_works_from_its_own_package(location: Path, tmp_path: Path) -> None:
    """Installed beside orledger, it brings a case, a view, a table, a figure and a hypothesis, and no word of any other study."""
    told = [c for c in commands(ROOT / "docs" / "adding.md") if c.block.needs == "location-study"]
    assert [c.words[1] for c in told] == ["run", "sql", "audit", "tables", "figures", "report"]
    lines = [c.words[1:] + (["--engine", "serial"] if c.words[1] == "run" else []) for c in told]
    lines += [["db", "check", "--db", "location.duckdb"], ["settings", "location", "--preset", "small"]]
    done = subprocess.run(
        [sys.executable, "-c", LOCATION], input="\n".join(map(repr, lines)), capture_output=True, text=True,
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(location)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for command in told:
        for line in command.output.splitlines():
            assert re.sub(r", in [\d.]+s", "", line) in re.sub(r", in [\d.]+s", "", done.stdout), line
    assert "32 content hashes verified" in done.stdout
    assert "Share of draws that the trimmed mean leaves out" in done.stdout
    page = (tmp_path / "location.html").read_text(encoding="utf-8")
    packed = re.search(r'id="pack">([^<]*)<', page)
    assert packed is not None
    shown = re.sub(r"<(script|style)\b[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    shown += gzip.decompress(base64.b64decode(packed[1])).decode()
    assert 'id="table-Locations"' in shown
    assert 'id="figure-Errors"' in shown
    assert "L1" in shown
    for word in ("the paper", "publication", "H1", "Optimal Recovery", "Morozov", "split-CP"):
        assert word not in shown, word
