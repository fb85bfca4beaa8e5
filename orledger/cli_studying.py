"""What the commands that make a study share: what was asked for, the audit, and the files that are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orledger.cli_look import columns, hanging, heading, steps, strong
from orledger.cli_options import echo_json
from orledger.errors import UsageError
from orledger.wording import counted

if TYPE_CHECKING:
    from pathlib import Path

    from orledger.audit.importing.inference import Wishes
    from orledger.audit.importing.repeated import Beforehand
    from orledger.audit.registry.hypotheses import Hypothesis

SPOKEN = 6  # comparisons that are put into words on the terminal; the report has all


def wishes(said: dict[str, Any]) -> Wishes:
    """What the options say about the table or the study."""
    from orledger.audit.importing.inference import Wishes

    names = ("arm", "keys", "metrics", "better", "unit", "ignore", "scale")
    return Wishes(study=said["name"], **{n: said[n] for n in names})


def named(said: dict[str, Any]) -> Beforehand:
    """What the options say about columns before a table is turned round."""
    from orledger.audit.importing.repeated import Beforehand

    return Beforehand(tuple(said["metrics"]))


def compared(said: dict[str, Any]) -> str:
    """Which comparisons the options ask for: all pairs, all with a control, or the best with the rest."""
    if said["best"] and said["control"]:
        raise UsageError("--best and --control contradict each other", hint="leave one of them out")
    return "best" if said["best"] else "control" if said["control"] else "pairs"


def as_said(
    said: dict[str, Any], files: list[Path], what: str, *, quiet: bool, allowed: tuple[str, ...] = ()
) -> list[str]:
    """That ``files`` decide, since they are there: an option that was given beside them, and is not ``allowed``, is refused."""
    given = [f"--{k.rstrip('s')}" for k, v in said.items() if v and k not in allowed]
    if given:
        raise UsageError(
            f"{given[0]} was given, and {files[0]} already says {what}",
            hint="edit the file, or write it again with orledger study --force, which keeps the old one beside it",
        )
    reasons = [f"as {' and '.join(map(str, files))} {'says' if len(files) == 1 else 'say'}"]
    if not quiet:
        click.echo(reasons[0])
    return reasons


def audited(db: Path, hypothesis: Hypothesis, *, amend: bool, quiet: bool) -> dict[str, Any]:
    """Registers the hypothesis where it is not yet, audits, and says, and returns, what follows."""
    from orledger.audit.evaluation import summary
    from orledger.audit.evaluation.auditing import audit

    with steps("audit"):
        found = audit(db, [hypothesis], amend=amend)
    for line in () if quiet else summary.audit_lines(found, heading=heading, width=columns()):
        click.echo(line)
    return {"audit": summary.audit_data(found)}


def written(db: Path, folder: Path, facts: dict[str, Any], as_json: bool, **how: Any) -> None:
    """Writes tables, figures and report of the database, and says what was written."""
    from orledger.study_output import write_study

    with steps("study") as step:
        made = write_study(db, folder, step=step, **how)
    if as_json:
        echo_json({**facts, "written": [vars(w) for w in made]})
        return
    in_words(db)
    for one in made:
        click.echo(one.line)


def in_words(db: Path) -> None:
    """Says which arm is better in the first comparisons, whether that is shown, and whether it could have been."""
    from orledger.reports.report.answering import answered
    from orledger.schema.reading import open_results

    with open_results(db) as results:
        found = answered(results, SPOKEN)
    if not (found.standings or found.answers):
        return
    click.echo(f"\n{strong('In words')}")
    for standing in found.standings:
        click.echo(hanging(" ".join(f"{line}." for line in (standing.leads, *standing.apart, standing.pairs))))
    for answer in found.answers:
        if len(answer.members) == 1:
            click.echo(hanging(f"{answer.members[0].leads}. {answer.shown}: {answer.why}."))
            continue
        click.echo(hanging(f"{answer.shown}: {answer.why}."))
        for member in answer.members:
            click.echo(hanging(f"{member.leads}.", "    "))
    if found.more:
        click.echo(f"  {counted(found.more, 'more comparison stands', 'more comparisons stand')} in the report")
    click.echo()
