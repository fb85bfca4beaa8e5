"""The command line as a user meets it: answers, messages and exit codes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import click
import polars as pl
import pytest
from click.testing import CliRunner, Result

from orledger import __version__
from orledger.cli import COMMANDS, EXIT_CODES, GROUPS, main


def run(*arguments: str, stdin: str | None = None, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, list(arguments), input=stdin, env=env)


def process(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    code = "import sys; from orledger.cli import main; sys.exit(main())"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, **options)  # type: ignore[call-overload]


def test_version() -> None:
    assert run("--version").output == f"orledger {__version__}\n"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from orledger.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'torch', 'duckdb', 'polars', 'numpy', 'rich', 'scipy', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "Runs of a study:" in done.stdout


def test_every_command_stands_under_one_heading_and_the_first_screen_fits() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)
    done = run()
    assert done.exit_code == 2
    lines = done.output.splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    for name in re.findall(r"^  orledger (\w+)", done.output, re.MULTILINE):
        assert name in COMMANDS


@pytest.mark.slow  # it measures time; the test before it says what makes the difference
def test_help_takes_less_than_a_third_of_importing_torch() -> None:
    """Best of several, side by side, so that a busy machine slows both."""

    def best(*command: str) -> float:
        times = []
        for _ in range(3):
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times.append(time.perf_counter() - began)
        return min(times)

    torch = best(sys.executable, "-c", "import torch")
    ours = best(sys.executable, "-c", "from orledger.cli import main; main(['--help'])")
    assert ours < torch / 3


def test_a_command_whose_module_is_absent_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "ghost", ("orledger.cli_ghost:ghost", "Not there."))
    assert "ghost" not in run("--help").output
    assert run("ghost").exit_code == 2


def test_every_command_in_the_table_answers_help_with_the_tables_sentence() -> None:
    context = click.Context(main)
    for name in main.list_commands(context):  # type: ignore[attr-defined]
        done = run(name, "--help")
        assert done.exit_code == 0, (name, done.output)
        assert COMMANDS[name][1].endswith(".")


def test_the_exit_codes_printed_are_those_of_the_errors() -> None:
    from orledger import errors

    codes = {c.exit_code for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.OrledgerError)}
    assert codes | {0, 130} == {int(n) for n in re.findall(r"^  (\d+)", EXIT_CODES, re.MULTILINE)}


def test_sql_as_a_table(toy_db: Path) -> None:
    done = run("sql", "--db", str(toy_db), "SELECT metric, count(*) AS n FROM record GROUP BY 1 ORDER BY 1")
    assert done.exit_code == 0
    assert done.output.splitlines() == [
        "metric       n",
        "--------  ----",
        "draw      1000",
        "mean        20",
        "neg_zero    20",
        "(3 rows)",
    ]


def test_sql_in_every_format(toy_db: Path, tmp_path: Path) -> None:
    query = "SELECT 'a|b' AS t, 0.1::DOUBLE AS x, NULL AS nothing, [1, 2] AS l"
    assert run("sql", "--db", str(toy_db), query, "--format", "csv").output == 't,x,nothing,l\na|b,0.1,,"[1,2]"\n'
    assert json.loads(run("sql", "--db", str(toy_db), query, "--format", "json").output) == [
        {"t": "a|b", "x": 0.1, "nothing": None, "l": [1, 2]}
    ]
    assert run("sql", "--db", str(toy_db), query, "--format", "markdown").output.splitlines()[2].startswith("| a\\|b")
    out = tmp_path / "rows.parquet"
    assert run("sql", "--db", str(toy_db), query, "--format", "parquet", "-o", str(out)).exit_code == 0
    assert pl.read_parquet(out)["x"].to_list() == [0.1]


def test_sql_from_a_file_and_from_standard_input(toy_db: Path, tmp_path: Path) -> None:
    query = "SELECT count(*) AS n FROM cell"
    (tmp_path / "q.sql").write_text(query)
    expected = run("sql", "--db", str(toy_db), query).output
    assert run("sql", "--db", str(toy_db), "-f", str(tmp_path / "q.sql")).output == expected
    assert run("sql", "--db", str(toy_db), stdin=query).output == expected
    assert run("sql", "--db", str(toy_db), "-", stdin=query).output == expected
    assert run("sql", "--db", str(toy_db), query, "-f", str(tmp_path / "q.sql")).exit_code == 2


def test_sql_tables_describes_every_column(toy_db: Path) -> None:
    text = run("sql", "--db", str(toy_db), "--tables").output
    assert "record (1,040 rows): One number" in text
    assert re.search(r"content_hash +varchar +Hash of its records", text)
    described = json.loads(run("sql", "--db", str(toy_db), "--tables", "--format", "json").output)
    assert {"run", "cell", "record", "refusal", "registration"} <= {t["name"] for t in described}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["sql", "DROP TABLE record"], 7, "DROP is refused"),
        (["sql", "SELECT nope FROM record"], 7, "nope"),
        (["sql", "SELECT 1", "--time-limit", "1000"], 2, "ORLEDGER_SQL_SECONDS"),
        (["sql", "SELECT * FROM range(100)", "--max-rows", "5"], 7, "more than 5 rows"),
        (
            ["sql", "SELECT count(*) FROM range(1000000000000) a, range(1000000) b", "--time-limit", "0.5"],
            7,
            "stopped after 0.5 seconds",
        ),
        (["status", "--db", "absent.duckdb"], 3, "no database at absent.duckdb"),
        (["run", "a", "--preset", "nope"], 2, "unknown preset"),
        (["run", "z"], 2, "unknown study 'z'"),
        (["nonsense"], 2, "No such command"),
    ],
)
def test_errors_have_a_message_an_exit_code_and_no_traceback(
    toy_db: Path, arguments: list[str], code: int, message: str
) -> None:
    """In a process of its own what ended a query, of which some remains could speak at its end; the others here."""
    if code == 7:
        ended = process(*arguments, env={**os.environ, "ORLEDGER_DB": str(toy_db)})
        found, said = ended.returncode, ended.stderr
    else:
        done = CliRunner().invoke(main, arguments, env={"ORLEDGER_DB": str(toy_db)})
        found, said = done.exit_code, done.stderr
        assert done.exception is None or isinstance(done.exception, SystemExit)
    assert found == code, said
    assert message in said
    assert "Traceback" not in said
    assert "nanobind" not in said


@pytest.mark.parametrize(
    "query",
    [
        "SELECT repeat('x', 4000000000)",
        "SELECT len(range(3000000000))",
        "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000))",
    ],
)
def test_a_query_that_ignores_limits_is_ended_with_its_process(toy_db: Path, query: str) -> None:
    """Values of functions are outside DuckDB's memory limit, and some functions cannot be interrupted: its code says it was."""
    impatient = "from orledger.schema import sandbox; sandbox.GRACE = 0.2; from orledger.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", impatient, "sql", query, "--db", str(toy_db)],
        capture_output=True,
        text=True,
        env={**os.environ, "ORLEDGER_SQL_SECONDS": "0.3", "ORLEDGER_SQL_MEMORY_MB": "200"},
    )
    assert done.returncode == 7, done.stderr


def test_a_closed_pipe_is_not_an_accident(toy_db: Path) -> None:
    code = f"{sys.executable} -m orledger sql --db {toy_db} 'SELECT * FROM record' | head -1"
    done = subprocess.run(["sh", "-c", code], capture_output=True, text=True)
    assert "Traceback" not in done.stderr


def test_status_counts_and_estimates(toy_db: Path, db: Path) -> None:
    text = run("status", "--db", str(toy_db)).output
    assert re.search(r"toy +main +20 +20 +0 +0 +0", text)
    assert "nothing is left to compute" in text
    shutil.copy(toy_db, db)
    from orledger.schema.writing import Writer

    with Writer(db) as writer:
        writer.con.execute("UPDATE cell SET seconds = 2.0")
        writer.con.execute("UPDATE cell SET state = 'planned' WHERE keys['seed']::INTEGER >= 15")
    found = json.loads(run("status", "--db", str(db), "--json").output)
    assert found["blocks"][0]["planned"] == 5
    assert found["seconds_left"] == 10.0
    assert "5 cells remain, about 10s" in run("status", "--db", str(db)).output


def test_db_commands(toy_db: Path, tmp_path: Path) -> None:
    out, copy = str(tmp_path / "out"), str(tmp_path / "copy.duckdb")
    assert "schema version" in run("db", "info", "--db", str(toy_db)).output
    assert run("db", "export", out, "--db", str(toy_db)).exit_code == 0
    assert "hashes verified" in run("db", "import", out, "--db", copy).output
    assert "20 content hashes verified" in run("db", "check", "--db", copy).output
    assert "up to date" in run("db", "migrate", "--db", copy).output
    assert run("db", "snapshot", "--db", copy, "-o", str(tmp_path / "s.duckdb")).exit_code == 0
    assert run("db", "check", "--db", str(tmp_path / "s.duckdb")).exit_code == 0
    from orledger.schema.writing import Writer

    with Writer(copy) as writer:
        writer.con.execute("UPDATE record SET value = 0 WHERE rowid = 5")
    done = run("db", "check", "--db", copy)
    assert done.exit_code == 6
    assert "the content hash differs" in done.output


def test_presets_and_settings() -> None:
    assert [row["preset"] for row in json.loads(run("presets", "list", "--json").output)] == [
        "fair",
        "open",
        "paper",
        "smoke",
    ]
    blocks = json.loads(run("presets", "show", "smoke", "--json").output)["blocks"]
    planned = json.loads(run("run", "all", "--dry-run", "--json").output)
    assert sum(b["cells"] for b in blocks) == len(planned) == len({row["cell_id"] for row in planned})
    ours = json.loads(run("settings", "--ours", "--json").output)
    every = json.loads(run("settings", "--json").output)
    assert {row["given"] for row in ours} == {"ours"}
    assert {row["given"] for row in every} == {"ours", "given"}
    assert all(len(row["meaning"].split()) >= 2 for row in every)


def test_the_page_of_commands_is_up_to_date(root: Path) -> None:
    """`make docs` writes docs/commands.md from the commands."""
    from orledger.cli_docs import page

    assert (root / "docs" / "commands.md").read_text(encoding="utf-8") == page()


def test_every_command_named_in_the_documentation_exists(root: Path) -> None:
    """Each `orledger word` in a fenced block or in code quotes names a command, and each option one it has."""
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    context = click.Context(main)
    unknown = []
    for page in pages:
        for line in re.findall(
            r"(?:^|`|\$ |    )orledger (?!database )([a-z][^\n`]*)", page.read_text(encoding="utf-8"), re.MULTILINE
        ):
            words = line.split()
            command = main.get_command(context, words[0])  # type: ignore[attr-defined]
            if isinstance(command, click.Group) and len(words) > 1 and re.fullmatch(r"[a-z]+", words[1]):
                command = command.get_command(context, words[1])
            if isinstance(command, click.Group) and "check" in command.commands and words[0] == "recheck":
                command = command.commands["check"] if words[1:2] != ["init"] else command  # a file alone is checked
            if command is None:
                unknown.append(f"{page.name}: orledger {line}")
                continue
            known = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help"}
            unknown += [
                f"{page.name}: {o} of orledger {line}" for o in re.findall(r"(?<= )--[a-z-]+", line) if o not in known
            ]
    assert unknown == []


def test_python_entry(toy_db: Path) -> None:
    import orledger

    with orledger.open(toy_db) as results:
        frame = results.records(case="toy", metric="mean")
        assert frame.height == 20
        assert results.sql("SELECT ? + 1 AS x", [41])["x"][0] == 42
    code = f"import orledger; r = orledger.open({str(toy_db)!r}); print(r.sql('SELECT count(*) AS n FROM cell'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
@pytest.mark.parametrize(
    "words", ["audit --power --effect", "figures --width", "figures --dpi", "run all --dry-run --snapshot-every"]
)
def test_a_number_that_is_none_is_refused_by_every_option(toy_db: Path, words: str, number: str) -> None:
    done = CliRunner().invoke(main, [*words.split(), number], env={"ORLEDGER_DB": str(toy_db)})
    assert (done.exit_code, f"Invalid value for '{words.split()[-1]}'" in done.output) == (2, True), done.output


def shell(words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What ``orledger`` with ``words`` does in a shell, which can close a stream or send it elsewhere."""
    command = f"exec {sys.executable} -c 'from orledger.cli import main; main()' {words}"
    return subprocess.run(command, shell=True, capture_output=True, text=True, env={**os.environ, **environment})


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_process_without_its_streams(toy_db: Path, tmp_path: Path, closed: str) -> None:
    """The file that is opened next would get the number of the stream, and with it what is printed."""
    path = tmp_path / "out.csv"
    done = shell(f"sql 'SELECT count(*) AS n FROM cell' --format csv --out {path} {closed}", ORLEDGER_DB=str(toy_db))
    assert (done.returncode, done.stderr, path.read_text()) == (0, "", "n\n20\n")
    done = shell(f"verify --no-contents {closed}", ORLEDGER_DB=str(toy_db))
    assert (done.returncode, done.stderr) == (0, "")
    assert ("head " in done.stdout) == (">&-" not in closed or closed == "2>&-")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("words", ["--help", "--version", "status --help", "status"])
def test_no_room_for_what_is_printed(toy_db: Path, words: str) -> None:
    done = shell(f"{words} > /dev/full", ORLEDGER_DB=str(toy_db))
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2,
        "error: standard output cannot be used: No space left on device",
    )
