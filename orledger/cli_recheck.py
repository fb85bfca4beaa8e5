"""``orledger recheck``: the printed numbers of a paper, recomputed from one another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orledger.cli_look import steps, toned
from orledger.cli_options import echo_json, json_option, warn
from orledger.cli_output import HTML, MARKDOWN, check_ending, check_file, write_file
from orledger.errors import UsageError, VerificationError
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orledger.audit.recheck.covering import Coverage
    from orledger.audit.recheck.findings import Finding
    from orledger.audit.recheck.model import Publication
    from orledger.audit.recheck.reading.document import Document

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
ANNOTATIONS = click.Path(path_type=Path, exists=True)
OUT = click.Path(path_type=Path)


class _CheckByDefault(click.Group):
    """A group whose first word may be left out: ``orledger recheck paper.tex`` is ``orledger recheck check paper.tex``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The arguments with ``check`` in front unless they name a command or ask for help."""
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = ["check", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_CheckByDefault)
def recheck() -> None:
    """Recompute the printed numbers of a paper from one another.

    `orledger recheck paper.tex` is short for `orledger recheck check paper.tex`.
    """


@recheck.command()
@click.argument("file", type=FILE, required=False)
@click.option(
    "-a",
    "--annotations",
    multiple=True,
    type=ANNOTATIONS,
    help="A TOML file or folder of annotations; may be repeated.",
)
@click.option("--study", metavar="NAME", help="Use the annotations of this study: installed, a module, or a folder.")
@click.option(
    "--power",
    "only_power",
    is_flag=True,
    help="Instead of findings: change each number by one digit and count what is noticed.",
)
@click.option(
    "--uncovered",
    "only_uncovered",
    is_flag=True,
    help="Instead of findings: list the sentences that no annotation reads, with the reasons.",
)
@click.option("--verdict", "verdicts", multiple=True, help="Show only this verdict; may be repeated.")
@click.option("--all", "everything", is_flag=True, help="Show every check, including those that match.")
@click.option("--place", default="", help="Show only numbers whose place contains this text.")
@click.option("--into", type=OUT, help="Store the findings in this database, and the annotated numbers of a study.")
@click.option("--csv", "csv_file", type=OUT, help="Write the findings to this CSV file.")
@click.option("--html", "html_file", type=OUT, help="Write a page of HTML.")
@click.option("--markdown", "markdown_file", type=OUT, help="Write a summary in Markdown.")
@click.option("--latex", "latex_file", type=OUT, help="Write a summary in LaTeX.")
@json_option
def check(
    file: Path | None,
    annotations: tuple[Path, ...],
    study: str | None,
    only_power: bool,
    only_uncovered: bool,
    verdicts: tuple[str, ...],
    everything: bool,
    place: str,
    into: Path | None,
    csv_file: Path | None,
    html_file: Path | None,
    markdown_file: Path | None,
    latex_file: Path | None,
    as_json: bool,
) -> None:
    """Recheck FILE (LaTeX, Markdown, HTML or CSV), with annotations or without; without FILE, the numbers of a study.

    Findings with one cause stand together, what matters most first, each with file, line, the sentence, and what was tried.
    Without options the checks that do not simply match are shown. Ends with 6 when something was found.
    """
    from orledger.audit.recheck.model import CheckVerdict

    names = [verdict.value for verdict in CheckVerdict]
    for verdict in verdicts:
        if verdict not in names:
            raise UsageError(f"--verdict {verdict!r} is unknown", hint=f"use one of {', '.join(names)}")
    if only_power or only_uncovered:
        writing = {
            "--into": into,
            "--csv": csv_file,
            "--html": html_file,
            "--markdown": markdown_file,
            "--latex": latex_file,
        }
        choosing = {
            "--verdict": verdicts,
            "--all": everything,
            "--place": place,
            "--uncovered": only_uncovered and only_power,
        }
        _refuse(
            "--power" if only_power else "--uncovered", [name for name, given in (writing | choosing).items() if given]
        )
    for path, known, what in (
        (csv_file, (".csv",), "CSV"),
        (html_file, HTML, "HTML"),
        (markdown_file, MARKDOWN, "Markdown"),
        (latex_file, (".tex",), "LaTeX"),
    ):
        if path is not None:
            check_ending(path, known, what)
            check_file(path)
    document = _document(file)
    publication = _publication(annotations, study, needed=file is None)
    if only_power:
        from orledger.cli_recheck_power import show_power

        show_power(document, publication, as_json)
        return
    if only_uncovered:
        _uncovered(document, publication, as_json)
        return
    with steps("recheck"):
        findings = _findings(document, publication)
    shown = [
        f
        for f in findings
        if (f.verdict in verdicts if verdicts else everything or not f.verdict.good)
        and place.lower() in f.place.lower()
    ]
    name = document.name if document is not None else f"study {study}" if study else "installed study"
    notes = document.notes if document is not None else ()
    if into is not None:
        from orledger.recheck_storing import store

        store(into, name, findings, None if annotations else publication)
    _write(csv_file, html_file, markdown_file, latex_file, name, findings, shown, notes)
    _print(findings, shown, notes, as_json)
    if document is not None and publication is not None and not as_json:
        click.echo(f"{_coverage(document, publication).summary} (--uncovered lists them)")
    _end(shown)


def _refuse(instead: str, given: Sequence[str]) -> None:
    """Ends with a message when an option about findings is given beside one that shows something else."""
    if given:
        raise UsageError(
            f"{given[0]} was given beside {instead}, which shows no findings",
            hint=f"give {given[0]} without {instead}, and {instead} in a second command",
        )


@recheck.command()
@click.argument("file", type=FILE)
@click.option("-o", "--out", type=OUT, help="Write to this file instead of standard output.")
@json_option
def init(file: Path, out: Path | None, as_json: bool) -> None:
    """Draft the annotations of FILE: every number with its place and sentence, those in no relation marked UNCOVERED."""
    from orledger.audit.recheck.automatic.checking import recheck_document
    from orledger.audit.recheck.drafting import draft
    from orledger.audit.recheck.reading.opening import read_document

    if out is not None:
        if out.exists():
            raise UsageError(f"{out} exists", hint="name a new file: a draft does not replace annotations")
        check_ending(out, (".toml",), "a draft in TOML")
        check_file(out)
    document = read_document(file)
    text = draft(document, recheck_document(document))
    if out is not None:
        write_file(out, text)
    if as_json:
        echo_json({"toml": text} if out is None else {"file": out})
    elif out is None:
        click.echo(text, nl=False)


@recheck.command()
def schema() -> None:
    """Print the JSON schema of annotation files, with every rule and its operands."""
    from orledger.audit.recheck.annotation_schema import annotation_schema

    echo_json(annotation_schema())


def _document(file: Path | None) -> Document | None:
    from orledger.audit.recheck.reading.opening import read_document

    return None if file is None else read_document(file)


def _publication(annotations: Sequence[Path], study: str | None, *, needed: bool) -> Publication | None:
    from orledger.audit.recheck.data import parse_publication
    from orledger.toml_tables import read_text

    if study is not None and annotations:
        raise UsageError("both --study and --annotations were given", hint="leave one of them out")
    if study is not None or (needed and not annotations):
        return _of_study(study)
    if not annotations:
        return None
    files = [f for path in annotations for f in (sorted(path.glob("*.toml")) if path.is_dir() else [path])]
    if not files:
        raise UsageError(f"{annotations[0]} holds no TOML file", hint="name a file of annotations, or a folder of them")
    return parse_publication({str(f): read_text(f) for f in files})


def _of_study(study: str | None) -> Publication:
    """The printed numbers of a study; without a name, of the first installed study that brings some."""
    from orledger import studies
    from orledger.reports.report.differences import printed_by

    printed = printed_by(studies.installed() if study is None else [studies.find(study)])
    if printed is None:
        which = "no installed study brings" if study is None else f"study {study!r} does not bring"
        raise UsageError(f"{which} printed numbers", hint="give a file: orledger recheck paper.tex")
    return printed.publication


def _findings(document: Document | None, publication: Publication | None) -> list[Finding]:
    from orledger.audit.recheck.automatic.checking import recheck_document
    from orledger.audit.recheck.checking import recheck as annotated
    from orledger.audit.recheck.locating import locate, placed, unprinted

    found: list[Finding] = []
    if publication is not None:
        found = annotated(publication)
        if document is not None:
            where = locate(publication, document)
            found = [*placed(found, publication, where), *unprinted(publication, where)]
    return found if document is None else [*found, *recheck_document(document)]


def _coverage(document: Document, publication: Publication) -> Coverage:
    from orledger.audit.recheck.covering import coverage
    from orledger.audit.recheck.locating import locate

    return coverage(document, publication, locate(publication, document))


def _uncovered(document: Document | None, publication: Publication | None, as_json: bool) -> None:
    """Lists the sentences that no annotation reads, those without a reason first."""
    if document is None or publication is None:
        raise UsageError(
            "--uncovered needs a paper and its annotations",
            hint="orledger recheck paper.tex --annotations notes.toml --uncovered",
        )
    found = _coverage(document, publication)
    bare = sorted(found.bare, key=lambda b: bool(b.reason))
    if as_json:
        rows = [
            {"file": b.file, "line": b.line, "place": b.place, "reason": b.reason, "sentence": b.sentence} for b in bare
        ]
        echo_json({"stating": found.stating, "uncovered": rows, "reasons for no sentence": list(found.unused)})
        return
    for b in bare:
        click.echo(f"{b.file}:{b.line}, {b.place}: {b.reason or 'no reason given'}")
        click.echo(f"   | {b.sentence}")
    for words in found.unused:
        warn(f"a reason is given for {words!r}, and no uncovered sentence holds these words")
    click.echo(found.summary)


def _print(findings: Sequence[Finding], shown: Sequence[Finding], notes: Sequence[str], as_json: bool) -> None:
    from orledger.audit.recheck.findings import grouped, summary
    from orledger.audit.recheck.frames import findings_frame

    if as_json:
        echo_json({"summary": summary(findings), "findings": findings_frame(shown).to_dicts(), "notes": list(notes)})
        return
    for note in notes:
        warn(note)
    for position, group in enumerate(grouped(shown), start=1):
        several = f" ({len(group.findings)} places)" if len(group.findings) > 1 else ""
        click.echo(f"{position}. {toned(group.verdict.value)}{several}")
        for f in group.findings:
            recomputed = f", recomputed {f.recomputed}" if f.recomputed else ""
            decision = "; on the other side of 0.05" if f.decision else ""
            click.echo(f"   {f.where}: {f.name}: printed {f.printed}{recomputed}{decision}")
            click.echo(f"      {f.why}")
            if f.sentence:
                click.echo(f"      | {f.sentence}")
    for f in shown:
        if f.verdict.good:
            click.echo(f"{toned(f.verdict.value)}: {f.where}: {f.name}: printed {f.printed}, {f.why}")
    counts = ", ".join(f"{n} {verdict}" for verdict, n in summary(findings).items() if n)
    click.echo(
        f"{counted(len(findings), 'check')}: {counts}"
        if findings
        else "0 checks: no relation between numbers was found"
    )


def _end(shown: Sequence[Finding]) -> None:
    """Ends with exit code 6 when something was found."""
    from orledger.audit.recheck.findings import grouped

    groups = grouped(shown)
    if groups:
        lines = sum(len(group.findings) for group in groups)
        if lines == 1:
            raise VerificationError("1 check does not simply match")
        raise VerificationError(f"{lines} checks with {counted(len(groups), 'cause')} do not simply match")


def _write(
    csv_file: Path | None,
    html_file: Path | None,
    markdown_file: Path | None,
    latex_file: Path | None,
    name: str,
    findings: Sequence[Finding],
    shown: Sequence[Finding],
    notes: Sequence[str],
) -> None:
    if csv_file is not None:
        from orledger.audit.recheck.frames import findings_frame

        frame = findings_frame(shown)
        write_file(csv_file, frame.with_columns(frame["operands"].list.join("; ")).write_csv())
    if html_file is None and markdown_file is None and latex_file is None:
        return
    from orledger.audit.recheck.automatic.checking import tried
    from orledger.reports import recheck_page as pages

    rechecked = pages.Rechecked(name, findings, tried(findings), notes)
    for path, render in ((html_file, pages.html), (markdown_file, pages.markdown), (latex_file, pages.tex)):
        if path is not None:
            write_file(path, render(rechecked))
