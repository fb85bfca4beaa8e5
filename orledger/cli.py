"""The command line: a table of commands, each imported when it is used, so that ``orledger --help`` is instant."""

from __future__ import annotations

import sys

try:  # Ctrl-C while Python still imports: no command has begun, and there is nothing to say
    import errno
    import gc
    import importlib
    import importlib.util
    import os
    import signal
    import warnings
    from typing import Any, NoReturn, TextIO

    import click

    from orledger import __version__
    from orledger.console import turning_names_visible
    from orledger.errors import Note, OrledgerError
    from orledger.wording import visible
except KeyboardInterrupt:
    sys.exit(130)

# name -> (module:attribute, one line of help). A command whose module is absent is left out.
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("orledger.cli_run:run", "Compute the cells of a preset and store their records."),
    "status": ("orledger.cli_status:status", "Show what is planned, done, refused and failed, and how long remains."),
    "sql": ("orledger.cli_sql:sql", "Ask the results database a question in SQL."),
    "register": ("orledger.cli_audit:register", "Store the hypotheses before the data."),
    "audit": ("orledger.cli_audit:audit", "Compute what the records support."),
    "verify": ("orledger.cli_verify:verify", "Verify the chain of registrations, plans, cells and audits; receipts."),
    "recheck": ("orledger.cli_recheck:recheck", "Recompute the printed numbers of a paper."),
    "compare": ("orledger.cli_reports:compare", "Compare two databases: what moved, where two runs first differ."),
    "tables": ("orledger.cli_tables:tables", "Write the tables from the database."),
    "figures": ("orledger.cli_reports:figures", "Write the figures from the database."),
    "report": ("orledger.cli_reports:report", "Write the audit report from the database."),
    "serve": ("orledger.cli_serve:serve", "Look at results in a browser."),
    "findings": ("orledger.cli_reports:findings", "Write what reproduces and what does not, as a short document."),
    "datasets": ("orledger.cli_datasets:datasets", "Fetch and audit the datasets, and say where they came from."),
    "study": ("orledger.cli_study:study", "Turn a table of results into audit, tables, figures and report."),
    "init": ("orledger.cli_study:init", "Write the mapping and the hypotheses for a table, and stop."),
    "import": ("orledger.cli_import:import_study", "Bring in records made elsewhere."),
    "presets": ("orledger.cli_presets:presets", "List the presets that ship, and what one plans."),
    "settings": ("orledger.cli_presets:settings", "List every setting, and whether the reproduced work gives it."),
    "completion": ("orledger.cli_complete:completion", "Print the script for completion in bash, zsh or fish."),
    "db": ("orledger.cli_db:db", "Describe, migrate, copy, export, import, merge and check a database."),
}

# The list of commands under headings, those that a newcomer needs first.
GROUPS: dict[str, tuple[str, ...]] = {
    "Your own results": ("study", "init", "import"),
    "What they say": ("audit", "tables", "figures", "report", "findings", "serve", "sql"),
    "Printed numbers": ("recheck",),
    "Runs of a study": ("run", "status", "presets", "settings", "datasets"),
    "The file and its chain": ("db", "register", "verify", "compare"),
    "The shell": ("completion",),
}

FIRST = """orledger keeps results in one database file, audits what they support with
exact statistics, and writes tables, figures and reports from it.

  orledger study results.csv        your table of results, audited and reported
  orledger recheck paper.tex        the printed numbers of a paper, recomputed
  orledger run all --preset smoke   the study that ships, at a small size
  orledger serve                    what a database holds, in a browser

orledger --help lists every command, orledger COMMAND --help its options."""

EXIT_CODES = """\b
Exit codes:
  0    all went well
  1    something unexpected
  2    an argument, setting or file cannot be used
  3    the database is missing, foreign, damaged, locked, too old or too new
  4    the run ended, and some cells failed or were not computed
  5    input data cannot be used
  6    a check found a difference
  7    a query was refused, stopped or failed
  130  stopped by Ctrl-C (143 by SIGTERM); the same run command resumes
"""


class Commands(click.Group):
    """A group that imports a command when it is called and turns our errors into a message and an exit code."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Runs the command of a process, whose streams may be closed and whose output may have no room."""
        _with_streams()
        try:
            return super().main(*arguments, **options)
        except OSError as error:  # of the help, and of what is still written at the end
            if not options.get("standalone_mode", True):
                raise
            sys.exit(_refused(error))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without arguments, a screen for newcomers instead of every command."""
        if not args and not ctx.resilient_parsing:
            click.echo(FIRST)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The commands whose module is installed, in the order of the table."""
        return [name for name, (target, _) in COMMANDS.items() if _present(target)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        """The command called ``name``, imported now."""
        if name not in COMMANDS or not _present(COMMANDS[name][0]):
            return None
        module, attribute = COMMANDS[name][0].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that ``args`` begin with; one that is misspelt is an error with the nearest names."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(name, self.list_commands(ctx), 2, cutoff=0.5)
            meant = f" Did you mean {' or '.join(near)}?" if near else " orledger --help lists them."
            ctx.fail(f"No such command {name!r}.{meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands from the table alone, under headings."""
        present = self.list_commands(ctx)
        wide = max(map(len, present))
        for heading, names in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(wide), COMMANDS[name][1]) for name in names if name in present])

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; an error of ours, of the file system, and Ctrl-C are a message and an exit code."""
        gc.set_threshold(
            100_000, 20, 20
        )  # a command makes many rows and few cycles: looking for them costs a tenth of an import
        try:
            with turning_names_visible(), warnings.catch_warnings():
                warnings.showwarning = _note
                return super().invoke(ctx)
        except click.UsageError as error:
            about = error.ctx or ctx
            click.echo(f"{about.get_usage()}\nTry '{about.command_path} --help' for help.\n", err=True)
            click.echo(f"error: {visible(error.format_message())}", err=True)
            ctx.exit(error.exit_code)
        except OrledgerError as error:
            click.echo(f"error: {visible(str(error))}", err=True)
            ctx.exit(error.exit_code)
        except OSError as error:
            if error.errno == errno.EPIPE:  # whoever read our output has seen enough; click ends quietly
                raise
            ctx.exit(_refused(error))
        except (KeyboardInterrupt, click.Abort) as stop:
            _stopped(ctx, getattr(stop, "signum", signal.SIGINT))
        except RuntimeError as error:
            if str(error) != "Query interrupted":  # DuckDB's word for Ctrl-C
                raise
            _stopped(ctx, signal.SIGINT)


def _refused(error: OSError) -> int:
    """The exit code for an error of the file system, which is told."""
    from orledger.cli_output import refused

    problem = refused(error)
    click.echo(f"error: {problem}", err=True)
    return problem.exit_code


def _with_streams() -> None:
    """Opens what the process was started without: Python has no such stream, and the next file would take its number."""
    streams = {"stdin": "r", "stdout": "w", "stderr": "w"}
    if all(getattr(sys, name) is not None for name in streams):
        return
    while (free := os.open(os.devnull, os.O_RDWR)) < len(streams):
        pass
    os.close(free)
    for number, (name, mode) in enumerate(streams.items()):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _note(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """A warning of ours is a line for people; one of a library keeps the place it came from."""
    plain = warnings.formatwarning(message, category, filename, lineno, line).rstrip()
    click.echo(f"note: {message}" if issubclass(category, Note) else plain, file=file, err=file is None)


def _stopped(ctx: click.Context, signum: int) -> NoReturn:
    what = "Ctrl-C" if signum == signal.SIGINT else signal.Signals(signum).name
    click.echo(f"stopped by {what}", err=True)
    ctx.exit(128 + signum)


def _present(target: str) -> bool:
    return importlib.util.find_spec(target.split(":")[0]) is not None


@click.command(cls=Commands, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "--version", message="orledger %(version)s")
def main() -> None:
    """Keep results in one database file, audit what they support with exact statistics, and write tables, figures and reports from it.

    Begin with a table of your own: orledger study results.csv --better higher
    """
