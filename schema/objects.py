"""What a database file holds beside its tables: functions that take the place of DuckDB's own, and views that were changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orledger.schema.contents import CheckFinding

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def functions_of_its_own(con: DuckDBPyConnection) -> list[CheckFinding]:
    """A finding per function (macro) that the database holds: it answers instead of DuckDB's function of the same name."""
    # By its full name: a function of the database could be called duckdb_functions, too.
    query = "SELECT DISTINCT function_name FROM system.main.duckdb_functions() WHERE NOT internal ORDER BY 1"
    return [
        CheckFinding("a function was added", name, "it takes the place of what DuckDB computes; DROP MACRO removes it")
        for (name,) in con.execute(query).fetchall()
    ]


def view_findings(con: DuckDBPyConnection) -> list[CheckFinding]:
    """A finding per view that is not what the catalogue and the installed studies make."""
    from orledger.schema import viewing  # which writes to the chain, and is read by it here

    detail = "it is not what the catalogue makes; orledger db migrate makes all views anew"
    return [CheckFinding("a view was changed", name, detail) for name in viewing.altered(con)]
