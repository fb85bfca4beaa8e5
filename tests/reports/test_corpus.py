"""The reference corpus of docs/results: it loads, it checks, and what stands beside it is rebuilt from it byte for byte."""

import re
from pathlib import Path

import pytest

from orledger.expected import expected_cells
from orledger.reports.report.document import render_report
from orledger.reports.report.findings import findings
from orledger.schema.checking import check
from orledger.schema.reading import open_results

RESULTS = Path(__file__).parents[2] / "docs" / "results"


def test_the_corpus_is_small_and_whole(corpus):
    """Both corpora have less than 15 MB together; every content hash verified; every cell the paper planned is there, done
    or refused with a reason."""
    assert sum(p.stat().st_size for folder in ("corpus", "open/corpus") for p in (RESULTS / folder).iterdir()) < 15e6
    assert check(corpus).findings == ()
    with open_results(corpus) as results:
        blocks = {(c, b): (n, s) for c, b, n, s in results.sql(
            "SELECT case_name, block, count(*), count(*) FILTER (state = 'done' OR (state = 'refused' AND reason IS NOT NULL)) FROM cell GROUP BY ALL"
        ).iter_rows()}  # fmt: skip
    assert blocks["a", "rules"] == (60, 60)
    assert blocks["a", "portability"] == (50, 50)
    assert blocks["b", "main"] == (73, 73)
    assert blocks["b", "ablation"] == (30, 30)
    assert blocks["b", "gap"] == (30, 30)
    assert blocks["c", "main"] == (35, 35)
    assert all(n == settled for n, settled in blocks.values())


@pytest.mark.slow
def test_the_findings_are_those_of_the_corpus(corpus):
    with open_results(corpus) as results:
        assert findings(results, expected_cells(results)) == (RESULTS / "FINDINGS.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_report_is_that_of_the_corpus(corpus):
    with open_results(corpus) as results:
        page = render_report(results, planned=expected_cells(results))
    assert page == (RESULTS / "report.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 3e6
    assert len(re.findall(r"<[a-z]", page)) < 40_000
