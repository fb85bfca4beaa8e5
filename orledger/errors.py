"""The exceptions orledger raises on purpose, and the exit code each one ends the command line with.

Every message says what was refused, where (file, cell, key), the value seen, and what to do about it. Packages that
must stand alone (recovery, schema, audit) derive their own errors from the base class here and from nothing else.
"""

from __future__ import annotations


class OrledgerError(Exception):
    """Base of every error that orledger raises on purpose; the command line prints it without a traceback."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\n  what to do: {hint}")
        self.message = message
        self.hint = hint


class Note(UserWarning):
    """What a person should know while the work goes on; the command line prints it as a line, without the place in our source."""


class UsageError(OrledgerError):
    """An argument, setting or file that the user gave is not usable."""

    exit_code = 2


class DatabaseError(OrledgerError):
    """The database file is missing, foreign, damaged, locked, or of another schema version."""

    exit_code = 3


class RunIncompleteError(OrledgerError):
    """The run ended, and some cells failed or were not computed."""

    exit_code = 4


class DataError(OrledgerError):
    """Input data that cannot be used: non-finite values, wrong shape, a target that is not a regression target."""

    exit_code = 5


class VerificationError(OrledgerError):
    """A check found a difference: a hash, a row count, a stale number."""

    exit_code = 6


class QueryRefusedError(OrledgerError):
    """A user's SQL statement was refused, interrupted, or failed."""

    exit_code = 7
