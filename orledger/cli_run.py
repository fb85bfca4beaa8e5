"""``orledger run``: from a preset to stored records."""

from __future__ import annotations

import functools
import os
import signal
from typing import TYPE_CHECKING

import click

from orledger.cli_complete import presets
from orledger.cli_options import NumberRange, PlacePath, db_option, echo_json, json_option
from orledger.errors import RunIncompleteError, UsageError
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from duckdb import DuckDBPyConnection

    from orledger.runners.cells import Job
    from orledger.runners.driver import Summary
    from orledger.runners.plan import Preset
    from orledger.schema.addresses import Place
    from orledger.study import Study


@click.command()
@click.argument("what", default="all")
@click.option(
    "--preset",
    default="smoke",
    show_default=True,
    shell_complete=presets,
    help="A preset of the study, or a path to a .toml file.",
)
@db_option
@click.option(
    "--engine",
    type=click.Choice(["serial", "processes", "ray"]),
    default="processes",
    show_default=True,
    help="Where cells run.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of workers; by default one per CPU, or one with a GPU."
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Device for tensors.",
)
@click.option("--block", "blocks", multiple=True, help="Only this block of the case (repeatable).")
@click.option(
    "--only", multiple=True, metavar="KEY=VALUE", help="Only cells with this key, such as seed=0 (repeatable)."
)
@click.option(
    "--shard",
    metavar="I/N",
    help="Only the I-th of N fixed parts of the plan, for N machines; orledger db merge joins them.",
)
@click.option("--retry-failed", is_flag=True, help="Compute failed cells again.")
@click.option("--retry-refused", is_flag=True, help="Compute refused cells again.")
@click.option(
    "--data-dir",
    type=PlacePath(exists=True, file_okay=False),
    envvar="ORLEDGER_DATA",
    help="Folder with the datasets, or its address (s3://, gs://, az://).",
)
@click.option("--offline", is_flag=True, help="Download nothing: cells whose data are missing are refused.")
@click.option(
    "--snapshot-every",
    type=NumberRange(min=0),
    default=60.0,
    show_default=True,
    help="Seconds between snapshots for readers; 0 for none.",
)
@click.option("--ray-address", help="A Ray cluster to join; without it Ray starts on this machine.")
@click.option("--dry-run", is_flag=True, help="Show what would be computed, and compute nothing.")
@json_option
def run(
    what: str,
    preset: str,
    db: Path,
    engine: str,
    jobs: int | None,
    device: str,
    blocks: tuple[str, ...],
    only: tuple[str, ...],
    shard: str | None,
    retry_failed: bool,
    retry_refused: bool,
    data_dir: Place | None,
    offline: bool,
    snapshot_every: float,
    ray_address: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Compute the cells of a preset that the database does not hold yet; each is stored whole or not at all.

    WHAT is a case (see orledger presets), an installed study, a module path such as mylab.study, a folder with a
    study.toml, or all: everything that the preset holds.

    Run it again to resume: what is done is skipped, and the records come out the same.
    """
    if engine == "serial" and jobs not in (None, 1):
        raise UsageError(f"--jobs {jobs} with --engine serial, which has one worker", hint="leave one of them out")
    if ray_address is not None and engine != "ray":
        raise UsageError(f"--ray-address with --engine {engine}", hint="--engine ray joins the cluster")
    from orledger.runners.engines import THREAD_VARIABLES

    # Before anything numerical is imported: the libraries read these once.
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    from orledger import studies
    from orledger.runners.driver import select
    from orledger.runners.plan import load_preset, make_plan, package
    from orledger.runners.shards import part

    case = what if what in studies.cases() else None
    study = None if case is not None or what == "all" else studies.find(what)
    loaded = load_preset(preset, study)
    cases = None if case is None else (case,)
    plan = select(make_plan(loaded, cases), blocks, only)
    plan = plan if shard is None else part(plan, shard)
    if dry_run:
        _show_plan(plan, as_json)
        return

    from orledger.runners import engines, host, work
    from orledger.runners.cells import Context
    from orledger.runners.driver import RunFacts, run_plan
    from orledger.runners.plan import catalogue, resolved, setting_rows
    from orledger.runners.progress import reporter
    from orledger.schema.addresses import reading_folder

    present = sorted({cell.case for job in plan for cell in job.cells})
    known = studies.cases(None if study is None else (study,))
    for name in present:
        known[name].require()
    device = host.resolve_device(device)
    if data_dir is not None:
        data_dir = click.get_current_context().with_resource(reading_folder(data_dir))
    workers = 1 if engine == "serial" else jobs or (1 if device == "cuda" else engines.available_cpus())
    context = Context(
        device=device,
        threads=1,
        data_dir=str(data_dir) if data_dir else None,
        offline=offline,
        packages={c: package(c, study) for c in present},
        path="" if study is None else study.path,
    )
    summary = run_plan(
        plan,
        db,
        engines.engine(engine),
        functools.partial(work.compute_job, context=context),
        RunFacts(
            preset=loaded.name,
            settings=resolved(loaded, cases),
            versions=host.versions(),
            host=host.host_facts(device),
            git_commit=host.git_commit(),
            engine=engine,
            setting_rows=setting_rows(loaded, cases),
            catalogues=[catalogue(c, study) for c in present],
            studies=[study] if study else [],
        ),
        resources=engines.Resources(workers, threads=1, device=device, address=ray_address, data_dir=context.data_dir),
        retry=[state for state, chosen in (("failed", retry_failed), ("refused", retry_refused)) if chosen],
        reporter=reporter(),
        snapshot_every=snapshot_every,
        register=_registrar(present, study),
    )
    _show_summary(summary, loaded, db, as_json)


def _registrar(cases: Sequence[str], study: Study | None) -> Callable[[DuckDBPyConnection], object]:
    """What puts the hypotheses of the studies that run ``cases`` on record before the first cell."""
    from orledger.audit.registry.registration import register_shipped
    from orledger.studies import having

    chosen = having(cases) if study is None else [study]
    return functools.partial(register_shipped, chosen=chosen)


def _show_plan(plan: list[Job], as_json: bool) -> None:
    rows = [{"cell_id": c.id, "name": c.name, "job_id": job.id} for job in plan for c in job.cells]
    if as_json:
        echo_json(rows)
        return
    for row in rows:
        click.echo(f"{row['cell_id']}  {row['name']}")
    click.echo(f"{counted(len(rows), 'cell')} in {counted(len(plan), 'job')}", err=True)


def _show_summary(summary: Summary, preset: Preset, db: Path, as_json: bool) -> None:
    from orledger.runners.progress import duration

    if as_json:
        echo_json({**vars(summary), "state": summary.state, "db": str(db)})
    else:
        counts = f"{summary.done} done, {summary.refused} refused, {summary.failed} failed"
        earlier = f", {summary.skipped} settled before" if summary.skipped else ""
        click.echo(f"{preset.name}: {counts}{earlier}, in {duration(summary.seconds)}; records are in {db}")
    if summary.signum is not None:
        what = "Ctrl-C" if summary.signum == signal.SIGINT else signal.Signals(summary.signum).name
        click.echo(
            f"stopped by {what}: {counted(summary.remaining, 'cell')} {'remains' if summary.remaining == 1 else 'remain'}; the same command resumes",
            err=True,
        )
        click.get_current_context().exit(128 + summary.signum)
    failed = summary.failed + summary.failed_before
    if failed:
        raise RunIncompleteError(
            f"{failed} of {counted(summary.planned, 'cell')} failed; their tracebacks are stored",
            hint=f"orledger sql --db {db} \"SELECT name, error FROM cell WHERE state = 'failed'\", then --retry-failed",
        )
