"""One synthetic database for all report tests of a process; tests that change a database build their own."""

import pytest
import synthetic_db

HOSTILE = "<script>alert('x')</script>\\input{/etc/passwd} 100% a_b & \"q\""


@pytest.fixture(scope="session")
def synthetic():
    """A full database, not audited; read it, do not change it."""
    con = synthetic_db.connect()
    synthetic_db.build(con)
    return synthetic_db.Adapter(con)


@pytest.fixture(scope="session")
def audited():
    """A full database with the shipped hypotheses registered before the data and audited, and hostile refusal reasons."""
    from orledger.audit.registry.registration import register_shipped

    con = synthetic_db.connect()
    register_shipped(con)
    synthetic_db.build(con, noise_stream="per_cell")
    con.execute("UPDATE refusal SET reason = ?", [HOSTILE + " | x |"])
    synthetic_db.audit(con)
    return synthetic_db.Adapter(con)
