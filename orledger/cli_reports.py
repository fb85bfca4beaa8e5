"""``orledger figures``, ``orledger report`` and ``orledger compare``: what people look at, made from the database alone."""

from __future__ import annotations

import gc
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orledger.cli_complete import figures as complete
from orledger.cli_look import steps
from orledger.cli_notices import fail_if, noticed
from orledger.cli_options import (
    NumberRange,
    PlacePath,
    chosen_studies,
    db_option,
    echo_json,
    echo_table,
    json_option,
    reading,
    study_option,
    warn,
)
from orledger.cli_output import (
    HTML,
    MARKDOWN,
    check_ending,
    check_file,
    check_folder,
    check_folder_name,
    filling,
    out_option,
    write_file,
    writing_to,
)
from orledger.wording import counted, sized

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from orledger.schema.addresses import Place

LINES = 15  # rows of a comparison that the terminal shows before it says how many more there are


@contextmanager
def rarely_collected() -> Iterator[None]:
    """While inside, Python looks for unused cycles rarely: a figure makes many objects and most are kept until it is saved."""
    usual = gc.get_threshold()
    gc.set_threshold(100_000, 50, 1000)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@click.command()
@click.argument("names", nargs=-1, shell_complete=complete)
@db_option
@out_option(default=Path("out/figures"), show_default=True, help="Folder for the files.")
@click.option("--format", "formats", default="svg,pdf,png", show_default=True, help="File types, separated by commas.")
@click.option("--width", type=NumberRange(2.0, 30.0), default=6.9, show_default=True, help="Width in inches.")
@click.option("--dpi", type=NumberRange(30, 1200), help="Dots per inch of PNG files.  [default: 200]")
@click.option(
    "--style",
    type=click.Choice(["print", "talk", "plain"]),
    default="print",
    show_default=True,
    help="Sizes for print or for a talk; plain has no grid.",
)
@click.option(
    "--list",
    "listing",
    is_flag=True,
    help="List the figures that the database has, or those of the installed studies without one, and stop.",
)
@study_option
@json_option
def figures(
    names: tuple[str, ...],
    db: Path,
    out: Path,
    formats: str,
    width: float,
    dpi: float | None,
    style: str,
    listing: bool,
    references: tuple[str, ...],
    as_json: bool,
) -> None:
    """Draw the figures NAMES (all of them by default) from the database.

    \b
    orledger figures aprofile cinv --db results.duckdb --format svg --width 3.4
    """
    from orledger.errors import UsageError
    from orledger.reports.figures.drawing import FORMATS, declared, select, write_figures

    if listing:
        if names:
            raise UsageError("names were given beside --list", hint="leave one of them out")
        if db.exists():
            with reading(db) as results:
                known = select(results, chosen=chosen_studies(results, references))
        else:
            from orledger import studies

            known = list(declared([*(studies.find(r) for r in references), *studies.installed()]).values())
        rows = [{"name": s.name, "case": s.case, "title": s.title} for s in known]
        echo_json(rows) if as_json else echo_table(rows)
        return
    wanted = [f.strip().lower() for f in formats.split(",") if f.strip()]
    if unknown := [f for f in wanted or [""] if f not in FORMATS]:
        raise UsageError(f"--format: unknown file type {unknown[0]!r}", hint=f"one or more of {', '.join(FORMATS)}")
    check_folder_name(out)
    check_folder(out)
    with reading(db) as results, filling(out) as folder, steps("figures") as step, rarely_collected():
        changed = noticed(results)
        paths = write_figures(
            results, folder, names, wanted, chosen_studies(results, references),
            width=width, dpi=dpi, style=style, progress=step,
        )  # fmt: skip
        if changed:
            captions = folder / "captions.md"
            captions.write_text(f"**{changed}**\n\n{captions.read_text(encoding='utf-8')}", encoding="utf-8")
    if as_json:
        echo_json({"files": [str(out / p.name) for p in paths]})
    else:
        click.echo(f"{counted(len(paths), 'file')} in {out}")
    fail_if(changed, db)


@click.command()
@db_option
@out_option(
    type=PlacePath(),
    default=Path("out/report.html"),
    show_default=True,
    help="The HTML file; the PDF is written beside it. With a name ending in .pdf, only the PDF is written; other endings are refused.",
)
@click.option("--pdf/--no-pdf", default=None, help="Also write a PDF with LaTeX; by default if pdflatex is installed.")
@click.option("--title", help="Heading of the report.  [default: Audit report, and the title or name of the study]")
@study_option
@json_option
def report(
    db: Path, out: Place, pdf: bool | None, title: str | None, references: tuple[str, ...], as_json: bool
) -> None:
    """Write the audit report: one HTML file that needs nothing else, and a PDF where LaTeX is installed.

    It begins with the findings in words. Figures, tables and tests open to their queries and rows, and so do numbers whose origin is known.
    """
    from orledger.errors import UsageError
    from orledger.expected import expected_cells
    from orledger.reports.report.contents import Contents
    from orledger.reports.report.document import render_report
    from orledger.reports.report.pdf import write_pdf

    check_ending(Path(out.name), (*HTML, ".pdf"), "a report in HTML or a PDF")
    if not isinstance(out, Path):
        from orledger.schema.addresses import writing_folder

        with writing_folder(out.parent) as folder:
            folder.mkdir()
            here = {"db": db, "out": folder / out.name, "pdf": pdf, "title": title, "references": references}
            click.get_current_context().invoke(report, **here, as_json=as_json)
        click.echo(f"sent to {out.parent}", err=as_json)
        return
    latex = shutil.which("pdflatex")
    only_pdf = out.suffix.lower() == ".pdf"
    if only_pdf and pdf is False:
        raise UsageError(
            f"--no-pdf and --out {out} contradict each other", hint="name an .html file, or leave --no-pdf out"
        )
    if (pdf or only_pdf) and latex is None:
        raise UsageError(
            "a PDF needs pdflatex, and it is not installed",
            hint="install a TeX distribution, or leave --pdf out and name an .html file",
        )
    target = out if only_pdf else out.with_suffix(".pdf")
    wanted = [] if only_pdf else [out]
    wanted += [target] if latex is not None and pdf is not False else []
    for path in wanted:
        check_file(path)
    with reading(db) as results:
        planned = expected_cells(results, warn)
        contents = Contents(results, planned, chosen=chosen_studies(results, references), changed=noticed(results))
        with steps("report") as step, rarely_collected():
            if not only_pdf:
                write_file(out, render_report(results, title=title, contents=contents, step=step))
            if latex is not None and pdf is not False:
                step("PDF")
                with writing_to(target):
                    write_pdf(results, target, title=title, latex=latex, contents=contents)
        contents.close()
    if as_json:
        echo_json({"files": [{"path": str(path), "bytes": path.stat().st_size} for path in wanted]})
    for path in () if as_json else wanted:
        click.echo(f"{path}: {sized(path.stat().st_size)}")
    fail_if(contents.changed, db)


@click.command()
@db_option
@out_option(help="Write to this file instead of standard output.")
@study_option
@json_option
def findings(db: Path, out: Path | None, references: tuple[str, ...], as_json: bool) -> None:
    """Write what reproduces and what does not, as a short Markdown document.

    Dispositions beside those of the study's publication, every comparable table cell counted, known reasons for differences, what
    the recheck of its numbers found, what was refused, and how long it took.
    """
    from orledger.expected import expected_cells
    from orledger.reports.report.findings import findings as document

    if out is not None:
        check_ending(out, MARKDOWN, "Markdown")
        check_file(out)
    with reading(db) as results, steps("findings"):
        changed = noticed(results)
        text = document(results, expected_cells(results, warn), chosen_studies(results, references), changed)
    if out is not None:
        write_file(out, text)
    if as_json:
        echo_json({"markdown": text} if out is None else {"file": out})
    else:
        click.echo(text if out is None else str(out))
    fail_if(changed, db)


@click.command()
@click.argument("left", type=click.Path(path_type=Path))
@click.argument("right", type=click.Path(path_type=Path))
@click.option("--html", type=click.Path(path_type=Path), help="Also write the comparison as an HTML file.")
@click.option(
    "--tables",
    type=click.Path(path_type=Path),
    help="Also write the ratios of every arm and metric, as a table, into this folder.",
)
@click.option("--strict", is_flag=True, help="Exit with code 6 unless everything coincides bitwise.")
@json_option
def compare(left: Path, right: Path, html: Path | None, tables: Path | None, strict: bool, as_json: bool) -> None:
    """Compare the databases LEFT and RIGHT, cells matched by what they computed.

    Says which records coincide bitwise and which to 1, 5 and 20 percent, the worst disagreement of every arm, and for trajectories
    the first step that differs. Ratios are right over left. Cells that differ are listed with the machines that computed them, and
    marked when the kind of CPU was another: its name, or the code that the BLAS chose for it.
    """
    from orledger.errors import UsageError, VerificationError
    from orledger.reports.report.compare import FRAMES
    from orledger.reports.report.compare import compare as compared
    from orledger.reports.report.compare_output import comparison_html, comparison_tables

    if html is not None and html == tables:
        raise UsageError(f"--html and --tables both name {html}", hint="the first is a file, the second a folder")
    if html is not None:
        check_ending(html, HTML, "HTML")
        check_file(html)
    if tables is not None:
        check_folder_name(tables, "--tables")
        check_folder(tables)
    with reading(left) as a, reading(right) as b, steps("comparison"):
        result = compared(a, b, (left.name, right.name))
    if html is not None:
        write_file(html, comparison_html(result))
    if tables is not None:
        with filling(tables) as folder:
            written = [tables / p.name for p in comparison_tables(result, folder)]
        for path in written:
            click.echo(f"wrote {path}", err=True)
    if as_json:
        frames = {name: getattr(result, name).to_dicts() for name in FRAMES}
        echo_json(
            {
                "left": result.left,
                "right": result.right,
                "identical": result.identical,
                "unmatched": result.unmatched,
                **frames,
            }
        )
    else:
        _print(result)
    if strict and not result.identical:
        raise VerificationError(f"{left} and {right} differ", hint="the comparison above says where")


def _print(result: Any) -> None:
    click.echo("Cells")
    echo_table(result.cells.to_dicts(), right=("both", "bitwise", "only_left", "only_right"))
    _hosts(result)
    moved = result.records.filter(result.records["bitwise"] < result.records["n"]).sort(
        "worst_ratio", descending=True, nulls_last=True
    )
    total, same = int(result.records["n"].sum()), int(result.records["bitwise"].sum())
    click.echo(f"\n{same:,} of {total:,} records coincide bitwise; {result.unmatched:,} are on one side only.")
    _head("Records that moved, worst first", moved)
    _head(
        "Ratios right over left, worst first",
        result.rules.filter(result.rules["worst"] > 1).sort("worst", descending=True),
    )
    parted = result.paths.filter(result.paths["first_difference"].is_not_null())
    if len(result.paths):
        click.echo(
            f"\n{len(result.paths) - len(parted)} of {len(result.paths)} trajectories take the same actions throughout."
        )
        _head("Trajectories that part, earliest first", parted)
    click.echo("\nidentical" if result.identical else "\nnot identical")


def _hosts(result: Any) -> None:
    """The cells that differ with their machines; the kinds of CPU when there are several, or one is not known."""
    from orledger.reports.report.compare import ACROSS, SAME

    if len(result.hosts) > 1 or any(result.hosts["mark"] != SAME):
        _head("Kinds of CPU, left and right", result.hosts)
    if len(result.differing):
        across = int((result.differing["mark"] == ACROSS).sum())
        click.echo(f"\n{len(result.differing):,} cells differ, {across:,} of them across CPU kinds.")
        _head("Cells that differ, those across CPU kinds first", result.differing)


def _head(title: str, frame: pl.DataFrame) -> None:
    if frame.is_empty():
        return
    click.echo(f"\n{title}")
    rows = [
        {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in frame.head(LINES).to_dicts()
    ]
    echo_table(rows, right=tuple(c for c in frame.columns if frame[c].dtype.is_numeric()))
    if len(frame) > LINES:
        click.echo(f"... and {len(frame) - LINES} more; --json gives all")
