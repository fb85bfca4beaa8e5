"""``orledger init`` and ``orledger study``: from a table of results to its files, its audit and its report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from orledger.cli_anew import put, same_cells, set_aside
from orledger.cli_look import hanging, steps
from orledger.cli_options import echo_json, json_option, warn
from orledger.cli_output import check_folder_name
from orledger.cli_stored import database_of, init_stored, study_stored
from orledger.cli_study_again import drawn_again, same_questions
from orledger.cli_studying import as_said, audited, compared, named, wishes, written
from orledger.errors import DatabaseError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from orledger.audit.importing.mapping import Mapping
    from orledger.study import Study

OPTIONS = (
    click.option("--arm", help="The column that names the arms (methods, models, algorithms)."),
    click.option(
        "--key",
        "keys",
        multiple=True,
        help="A column that names a cell; may be repeated. Others are added where rows are not told apart.",
    ),
    click.option(
        "--metric", "metrics", multiple=True, help="The metric that decides; may be repeated for further ones."
    ),
    click.option("--better", type=click.Choice(["lower", "higher"]), help="Whether lower or higher is better."),
    click.option(
        "--scale",
        type=click.Choice(["common", "own"]),
        help="Whether units share one scale, or each has its own (sign test, no means over units); by default inferred from the metric's name and the values.",
    ),
    click.option("--unit", multiple=True, help="A key of the independent unit; the other keys are repetitions on it."),
    click.option("--ignore", multiple=True, help="A column to leave out; may be repeated."),
    click.option("--control", help="Compare every arm with this one instead of all pairs."),
    click.option("--best", is_flag=True, help="Compare the best arm of this table with the rest instead of all pairs."),
    click.option("--name", help="Name of the study; by default the name of the file."),
)


def _inferring(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("tables", nargs=-1, required=True)
@_inferring
@click.option("--force", is_flag=True, help="Write the files again; what they said is kept beside them (.bak).")
@json_option
def init(tables: tuple[str, ...], force: bool, as_json: bool, **said: Any) -> None:
    """Write a mapping and a hypothesis file next to TABLES, from what the table seems to mean, and stop.

    An existing mapping is used, and only the hypotheses are written. To register first: edit the two files, register the hypotheses with orledger register, and run orledger study, which uses both.
    For a results database in place of TABLES only the hypothesis file is written, since its catalogue says what its numbers are.
    """
    if stored := database_of(tables):
        init_stored(stored, said, as_json=as_json, force=force)
        return
    paths, mapping_file, hypothesis_file = _places(tables)
    if hypothesis_file.exists() and not force:
        raise UsageError(
            f"{hypothesis_file} is there already", hint="--force writes over it; orledger study uses it as it is"
        )
    drawn = _drawn(paths, mapping_file, said, quiet=as_json, force=force)
    _put(drawn, mapping_file, hypothesis_file)
    reasons = drawn.told
    if as_json:
        echo_json({"mapping": mapping_file, "hypotheses": hypothesis_file, "reasons": reasons})
    else:
        click.echo(f"wrote {mapping_file} and {hypothesis_file}")


@click.command()
@click.argument("tables", nargs=-1, required=True)
@_inferring
@click.option(
    "--db", type=click.Path(path_type=Path), help="The results database; by default beside TABLES, under their name."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for report, tables and figures; by default NAME-report beside TABLES.",
)
@click.option(
    "--replace",
    is_flag=True,
    help="Replace stored values that changed, and remove arms that a file no longer names; a trace is kept.",
)
@click.option(
    "--amend", is_flag=True, help="Allow a changed hypothesis file after data exist; it is shown as an amendment."
)
@click.option(
    "--force",
    is_flag=True,
    help="Read TABLES anew and write mapping and hypotheses again; the old ones, and a database made of another reading, are kept beside (.bak).",
)
@click.option(
    "--width",
    type=click.Choice(["one", "two"]),
    default="two",
    show_default=True,
    help="Number of columns that a figure spans.",
)
@click.option("--pdf/--no-pdf", default=None, help="Also write a PDF with LaTeX; by default if pdflatex is installed.")
@json_option
def study(
    tables: tuple[str, ...],
    db: Path | None,
    out: Path | None,
    replace: bool,
    amend: bool,
    force: bool,
    width: str,
    pdf: bool | None,
    as_json: bool,
    **said: Any,
) -> None:
    """Turn TABLES (CSV, Parquet or JSON; files, folders or globs) into audit, tables, figures and report.

    Says how it understood keys, arms, metrics and directions, and why. The mapping and the hypothesis file beside the table
    are used if they exist (orledger init writes them; edit them freely), and written otherwise. A study.toml
    beside the table adds readable names, and tables and figures of your own.

    A results database in place of TABLES (written by orledger.study or orledger.run_grid in Python, or by orledger run) is audited
    and reported as it is; --name chooses the study if it holds several.
    """
    from orledger.audit.importing.mapping import read_mapping
    from orledger.audit.importing.writing import stem

    if out is not None:
        check_folder_name(out)
    if stored := database_of(tables):
        if db is not None or replace:
            raise UsageError(
                f"{'--db' if db is not None else '--replace'} was given, and {stored} is a database itself",
                hint="leave it out: nothing is imported",
            )
        study_stored(stored, out, said, amend=amend, force=force, width=width, pdf=pdf, as_json=as_json)
        return
    paths, mapping_file, hypothesis_file = _places(tables)
    place = stem(paths)
    target = place.with_name(f"{place.name}.duckdb") if db is None else db
    drawn = None
    if force or not (mapping_file.exists() and hypothesis_file.exists()):
        drawn = _drawn(paths, mapping_file, said, quiet=as_json, force=force)
        mapping, reasons, amend = drawn.mapping, drawn.told, amend or force
    else:
        files = [mapping_file, hypothesis_file]
        said = {} if any(said.values()) and _as_written(paths, files, said) else said
        reasons = as_said(said, files, "what the table means", quiet=as_json)
        mapping = read_mapping(mapping_file)
    declared = _declared(paths[0].parent, mapping.study)
    anew = force and target.exists() and mapping_file.exists() and not same_cells(mapping, read_mapping(mapping_file))
    if declared is not None and (declared.table_displays or declared.figure_displays):
        _require_names(paths, mapping, None if anew else target, declared, replace=replace)
    if anew:
        set_aside(target, mapping.study)
    if drawn is not None:
        _put(drawn, mapping_file, hypothesis_file)
    folder = place.with_name(f"{place.name}-report") if out is None else out
    facts = _imported(paths, mapping, hypothesis_file, target, replace=replace, amend=amend, quiet=as_json)
    title = (declared and declared.title) or mapping.title or f"Audit report: {mapping.study}"
    written(target, folder, {"db": target, "reasons": reasons, **facts}, as_json, title=title, width=width, pdf=pdf, declared=declared)  # fmt: skip


def _declared(folder: Path, name: str) -> Study | None:
    """The study that a study.toml beside the table declares, with labels, tables and figures; None when it is about another one."""
    from orledger import studies

    file = folder / studies.FILE
    if not file.is_file():
        return None
    found = studies.shown(folder)
    if name not in (case.name for case in found.cases):
        warn(
            f"{file} is about {', '.join(case.name for case in found.cases) or found.name}, not {name}, and is not used"
        )
        return None
    warn(f"tables, figures and labels as {file} says")
    return found


def _places(tables: tuple[str, ...]) -> tuple[tuple[Path, ...], Path, Path]:
    from orledger.audit.importing.tables import expand
    from orledger.audit.importing.writing import beside

    paths = expand(tables)
    return paths, *beside(paths)


def _as_written(paths: tuple[Path, ...], files: list[Path], said: dict[str, Any]) -> bool:
    """Whether what was ``said`` would give just these ``files``: the command is given again, and nothing contradicts them."""
    from orledger.audit.importing.writing import stem

    drawn = drawn_again(paths, f"{stem(paths).name}.csv", said, files[0])
    return drawn is not None and same_questions(drawn.questions.text, files[1])


@dataclass(frozen=True)
class Drafted:
    """What was made of the tables and is not written yet: the texts, what the mapping means, and what was told.

    ``mapping_text`` is None where a mapping was there, which is used as it is.
    """

    mapping: Mapping
    mapping_text: str | None
    questions: str
    told: list[str]


def _drawn(
    paths: tuple[Path, ...], mapping_file: Path, said: dict[str, Any], *, quiet: bool, force: bool = False
) -> Drafted:
    """Infers, says what and why, and draws both texts, or the questions alone where a mapping is there that ``force`` does not write over."""
    from orledger.audit.importing.loading import mapped_tables
    from orledger.audit.importing.mapping import parse_mapping, read_mapping
    from orledger.audit.importing.tables import programs, read_tables
    from orledger.audit.importing.writing import draft, stem

    known = read_mapping(mapping_file) if mapping_file.exists() and not force else None
    name = f"{stem(paths).name}.csv"
    drawn = None
    formats: list[str] = []
    told: list[str] = []
    ignore, how = said["ignore"], named(said)
    try:
        with steps("reading"):
            if known is not None and any(said.values()):  # a command that was interrupted after the mapping
                drawn = drawn_again(paths, name, said, mapping_file)
            if drawn is None and known is not None:
                _refuse_beside(known, mapping_file, said)
                table, ignore, how = mapped_tables(paths, known)
            formats = [f"format: {program}" for program in programs(paths, ignore, how)]
            if drawn is None:
                table = read_tables(paths, ignore, said=how) if known is None else table
                drawn = draft(
                    table, name, wishes(said), mapping=known, compare=compared(said), control=said["control"], told=told
                )
            told = list(drawn.reasons)
    finally:  # also where an error asks for the rest: a table that was turned round has other columns
        for line in () if quiet else (*formats, *told):
            click.echo(hanging(line))
    mapping = known or parse_mapping(drawn.mapping_text, mapping_file.name)
    text = drawn.mapping_text if known is None else None
    return Drafted(mapping, text, drawn.questions.text, [*formats, *told])


def _put(drawn: Drafted, mapping_file: Path, hypothesis_file: Path) -> None:
    """Writes the texts that were drawn."""
    from orledger.audit.importing.asking import SEEN

    if drawn.mapping_text is not None:
        put(mapping_file, drawn.mapping_text)
    put(hypothesis_file, drawn.questions)
    warn(SEEN)


def _require_names(
    paths: tuple[Path, ...], mapping: Mapping, db: Path | None, declared: Study, *, replace: bool
) -> None:
    """An error where ``declared`` names what the tables, and what ``db`` holds beside them, do not have; nothing is written.

    The tables are imported into a copy of the database, which is where names are looked up.
    """
    from orledger.audit.importing.loading import import_files
    from orledger.schema.writing import Writer
    from orledger.study_output import check_declared

    with TemporaryDirectory() as folder:
        copy = Path(folder) / "results.duckdb"
        for file, ending in ((db, ""), (db and db.with_name(f"{db.name}.wal"), ".wal")):
            if file is not None and file.exists():
                copyfile(file, copy.with_name(copy.name + ending))
        try:
            with steps("names"), Writer(copy) as writer:
                import_files(writer, paths, mapping, replace=replace)
        except DatabaseError:
            return  # what is wrong with the database is said of its own path
        check_declared(copy, declared)


def _refuse_beside(known: Mapping | None, mapping_file: Path, said: dict[str, Any]) -> None:
    """Raises UsageError for an option about the meaning of the table where a mapping is there that means something else."""
    given = [k for k in ("arm", "keys", "better", "ignore", "scale", "name") if said[k]]
    if known is not None and given:
        raise UsageError(
            f"--{given[0].rstrip('s')} was given, and {mapping_file} already says what the table means",
            hint="edit the file, or write it again with --force",
        )


def _imported(
    paths: tuple[Path, ...],
    mapping: Mapping,
    hypothesis_file: Path,
    db: Path,
    *,
    replace: bool,
    amend: bool,
    quiet: bool,
) -> dict[str, Any]:
    """Imports, registers what is not registered yet, and audits; says, and returns, what was stored and what follows."""
    from orledger.audit.importing.loading import import_files
    from orledger.audit.registry.reading import read_hypothesis
    from orledger.schema.writing import Writer

    hypothesis = read_hypothesis(hypothesis_file)
    with steps("import"), Writer(db) as writer:
        found = import_files(writer, paths, mapping, replace=replace)
    if not quiet:
        click.echo(found.told())
    for note in found.notes:
        warn(note)
    return {"imported": vars(found), **audited(db, hypothesis, amend=amend, quiet=quiet)}
