"""Every page answers, shows what is stored, escapes what is hostile, and nothing can be written or reached through it."""

from __future__ import annotations

import html
import io
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pytest
from explorer_db import HOSTILE
from starlette.testclient import TestClient

from orledger.explorer.app import application
from orledger.explorer.comparing import told_apart
from orledger.explorer.guard import HEADERS
from orledger.explorer.mirror import Mirror
from orledger.explorer.site import Explorer
from orledger.schema.opening import connect
from orledger.schema.sandbox import Limits

PAGES = (
    "/",
    "/run",
    "/run?part=1",
    "/cells",
    "/cell/c0",
    "/cell/c6",
    "/metric",
    "/metric?metric=mine/main/error&group=seed",
    "/hypothesis/better",
    "/tables",
    "/table/better-tests",
    "/table/better-results",
    "/recheck",
    "/sql",
    "/sql?q=SELECT+1",
)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_answers_and_lets_no_markup_of_the_data_through(client: TestClient, page: str) -> None:
    answer = client.get(page)
    assert answer.status_code == 200, answer.text
    assert "<script>alert" not in answer.text
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    inline = re.findall(r"<script(?![^>]*\b(?:src|type=\"application/json\"))", answer.text)
    assert inline == []


def test_a_cell_shows_its_records_refusals_and_neighbours(client: TestClient) -> None:
    text = client.get("/cell/c2").text
    assert "<td>2</td>" in text
    assert "<td>3</td>" in text
    assert "−0.5" in text
    assert 'href="/cell/' in text
    assert "ValueError" in client.get("/cell/c6").text
    assert client.get("/cell/nobody").status_code == 404


def test_a_cell_that_failed_says_why_in_the_list(client: TestClient) -> None:
    (why,) = re.findall(r'<td class="text long">(.*?)</td>', client.get("/cells?state=failed&order=why").text)
    assert "<" not in why
    assert html.unescape(why) == f"ValueError: {HOSTILE}"


def test_medians_of_the_metric_page_are_those_of_the_records(client: TestClient) -> None:
    """Even cells hold the values 0, 2, 4 for arm x: the median is 2, by hand."""
    text = client.get("/metric?metric=mine/main/error&group=dataset&arm=x").text
    row = re.search(r">plain</a></td><td class=\"text\">x</td><td><a [^>]*>3</a></td><td>(\S+?)</td>", text)
    assert row is not None
    assert row.group(1) == "2"


def test_a_count_of_the_metric_page_leads_to_its_rows(client: TestClient) -> None:
    """Arm x has the values 0, 2, 4 on the even cells: the query behind the count gives these three and no other."""
    page = client.get("/metric?metric=mine/main/error&group=dataset&arm=x").text
    (address,) = (a for a in links(page, "/metric/rows?") if "value=plain" in a)
    answer = client.get(address, follow_redirects=False)
    assert answer.status_code == 307
    frame = pl.read_csv(io.StringIO(client.get(answer.headers["location"].replace("/sql?", "/query.csv?")).text))
    assert frame["error"].to_list() == [0.0, 2.0, 4.0]
    assert client.get("/metric/rows?metric=mine/main/error&group=dataset&value=none&arm=x").status_code == 404


@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE cell",
        "INSERT INTO cell SELECT * FROM cell",
        "SELECT 1; DELETE FROM record",
        "COPY record TO '/tmp/stolen.csv'",
        "SELECT * FROM read_text('/etc/passwd')",
        "ATTACH '/tmp/x.duckdb'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
    ],
)
def test_hostile_sql_is_refused_with_a_message(client: TestClient, query: str) -> None:
    answer = client.get("/sql", params={"q": query})
    assert answer.status_code == 200
    assert 'class="problem"' in answer.text
    assert client.get("/query.csv", params={"q": query}).status_code == 400
    assert "152" in client.get("/cells").text or "8 cells" in client.get("/cells").text


def test_the_overview_answers_which_is_better_and_says_that_no_level_is_claimed(client: TestClient) -> None:
    """Six units, x lower on each: the exact signed-rank p is 2 / 2^6."""
    page = client.get("/").text
    words = page[page.index("<h2>In words</h2>") : page.index("<h2>What is there</h2>")]
    assert "No level is claimed" in words
    assert "x is better than z on 6 of 6 units (dataset, seed), worse on 0" in words
    assert f"<strong>Shown</strong>: p = {2 / 2**6:.3g}, at level 0.05" in words
    (link,) = re.findall(r'href="(/test/[0-9a-f]+)"', words)
    assert client.get(link).status_code == 200


def test_an_opponent_that_the_title_names_is_named_once(client: TestClient) -> None:
    page = client.get("/hypothesis/better").text
    assert "Error of x against z<" in page
    assert "against z, against z" not in page


def test_what_an_exploratory_hypothesis_supports_does_not_look_confirmed(client: TestClient) -> None:
    for address in ("/", "/hypothesis/better"):
        page = client.get(address).text
        assert '<span class="verdict v-open">supported</span>, exploratory' in page
        assert "card v-good" not in page


def test_a_query_can_be_linked_and_downloaded(client: TestClient) -> None:
    query = "SELECT arm, sum(value) AS s FROM record GROUP BY ALL ORDER BY s"
    assert "15" in client.get("/sql", params={"q": query}).text  # 0 + 1 + ... + 5
    csv = client.get("/query.csv", params={"q": query}).text
    assert csv.splitlines()[0] == "arm,s"
    frame = pl.read_parquet(io.BytesIO(client.get("/query.parquet", params={"q": query}).content))
    assert frame["s"].to_list() == [15.0, 21.0, 36.0]


def test_lists_and_maps_can_be_downloaded_as_csv(client: TestClient) -> None:
    """CSV has no place for them, so they are texts there."""
    answer = client.get("/query.csv", params={"q": "SELECT cell_id, keys, [1, 2] AS l FROM cell ORDER BY ALL LIMIT 1"})
    assert answer.status_code == 200
    assert pl.read_csv(io.StringIO(answer.text))["cell_id"].to_list() == ["c0"]


@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
def test_nothing_can_be_written(client: TestClient, method: str) -> None:
    assert getattr(client, method)("/cells").status_code == 405


def test_another_host_name_is_refused(client: TestClient) -> None:
    assert client.get("/", headers={"Host": "attacker.example"}).status_code == 400


def test_other_sites_may_link_to_a_page_and_not_ask_for_it(client: TestClient) -> None:
    """A browser says where a request comes from: an image or a script of another site is refused, a link is followed."""
    for site, mode, status in (
        ("cross-site", "no-cors", 403),
        ("cross-site", "cors", 403),
        ("cross-site", "navigate", 200),
        ("same-origin", "cors", 200),
        ("none", "navigate", 200),
    ):
        sent = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
        assert client.get("/sql?q=SELECT+1", headers=sent).status_code == status
    assert (
        len(
            re.findall(
                "Take this filter away", client.get("/cells?" + "&".join(f"key.k{i}=1" for i in range(999))).text
            )
        )
        == 40
    )


def test_beyond_this_machine_a_token_is_asked_for(database: Path) -> None:
    app = application(Explorer(database, token="secret-token", hosts=("*",)))
    with TestClient(app, base_url="http://machine.example") as client:
        assert client.get("/").status_code == 401
        assert client.get("/?token=wrong").status_code == 401
        assert client.get("/cells?token=secret-token").status_code == 200  # redirected with a cookie
        assert client.get("/cells").status_code == 200


def test_an_unknown_page_and_a_missing_database_are_told(client: TestClient, tmp_path: Path) -> None:
    assert "Overview" in client.get("/nowhere").text
    app = application(Explorer(tmp_path / "absent.duckdb"))
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as other:
        answer = other.get("/")
        assert answer.status_code == 503  # it may come while the page waits
        assert "no database at" in answer.text
        assert '<meta http-equiv="refresh" content="2">' in answer.text
        assert "Traceback (most recent" not in answer.text


def test_a_defect_is_a_page_too(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orledger.explorer.overview.overview", lambda _: 1 // 0)
    x = application(Explorer(database))
    with TestClient(x, base_url="http://localhost", raise_server_exceptions=False) as client:
        answer = client.get("/")
        assert answer.status_code == 500
        assert "ZeroDivisionError: this is a defect" in answer.text
        assert all(answer.headers[name] == value for name, value in HEADERS.items())
        assert client.get("/cells").status_code == 200


def test_the_copy_follows_the_file_and_never_holds_it(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orledger.explorer.mirror.LOOK_EVERY", 0.0)
    mirror = Mirror(database, Limits())
    try:
        with mirror.results() as results:
            assert results.sql("SELECT count(*) AS n FROM cell")["n"][0] == 8
            # A writer can open the file while a page reads.
            con = connect(database, "write")
            con.execute("DELETE FROM cell WHERE cell_id = 'c7'")
            con.close()
            assert results.sql("SELECT count(*) AS n FROM cell")["n"][0] == 8, "a page sees one state"
        with mirror.results() as results:
            assert results.sql("SELECT count(*) AS n FROM cell")["n"][0] == 7
    finally:
        mirror.close()


def links(text: str, start: str) -> list[str]:
    """The addresses on a page that begin with ``start``."""
    return [html.unescape(a) for a in re.findall(r'href="([^"]+)"', text) if a.startswith(start)]


def test_every_number_of_every_table_leads_to_its_records(client: TestClient) -> None:
    """The value of arm z in cell c4 is 2 * 4 + 1 = 9: its page shows that record and no other cell's."""
    seen = 0
    for name in links(client.get("/tables").text, "/table/"):
        table = client.get(name).text
        for address in links(table, "/number?"):
            page = client.get(address)
            assert page.status_code == 200, page.text
            assert "SELECT" in page.text, address
            assert "does not say which rows" not in page.text
            seen += 1
        cells = re.findall(r'<td class="(?:left|right|center)"[^>]*>(.*?)</td>', table)
        assert [c for c in cells if re.match(r"[+−-]?\d", c)] == [], "a number without a link"
    assert seen >= 20
    (address,) = (
        a
        for a in links(client.get("/table/better-results").text, "/number?")
        if "plain%2F4" in a and a.endswith("column=z")
    )
    page = client.get(address).text
    assert links(page, "/cell/") == [
        "/cell/c4",
        "/cell/c4",
        "/cell/c4",
    ]  # its own record, then the two that its rank compares
    assert ">9</td>" in page
    assert client.get("/number?table=better-results&row=nobody&column=x").status_code == 404


def test_a_hypothesis_shows_tests_units_sensitivity_and_amendments(client: TestClient) -> None:
    """On every seed but 0 x is lower than z by i + 1: all six differences are negative, so the exact p is 2 / 2**6."""
    page = client.get("/hypothesis/better").text
    assert "supported" in page
    assert "&lt;b&gt;than&lt;/b&gt;" in page
    assert "0.0312" in page
    assert "an amendment" in page
    assert '<span class="plus">+ reason = &#34;x is lower on every unit&#34;' in page
    test = links(page, "/test/")[0]  # the variant that decides comes first
    units = client.get(test).text
    assert "0.03125" in units
    assert "<code>[-6.0, -1.0]</code>" in units  # with six units the interval is the whole range
    assert len(links(units, "/cell/")) == 12  # six units on two sides
    (unit,) = {a for a in links(units, "/cells?") if "plain" in a and "=4" in a}
    assert links(client.get(unit).text, "/cell/") == ["/cell/c4"]
    assert client.get("/test/nobody").status_code == 404
    assert client.get("/claim/nobody").status_code == 404
    assert client.get("/hypothesis/nobody").status_code == 404


def test_recheck_shows_findings_by_cause_with_their_sentences(client: TestClient) -> None:
    page = client.get("/recheck").text
    assert "1. Inconsistent" in page
    assert "paper.tex:12" in page
    assert "<blockquote>The mean is <mark>0.51</mark> &lt;script&gt;" in page
    assert "The 1 that agree" in page


def test_fifty_clients_at_once_without_an_error(client: TestClient) -> None:
    pages = [p for p in PAGES if p != "/tables"] * 5
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(client.get, pages[:50]))
    assert [a.status_code for a in answers] == [200] * 50
    alone = {p: untimed(client.get(p).text) for p in set(pages[:50])}
    assert all(untimed(a.text) == alone[p] for p, a in zip(pages, answers, strict=False))


def untimed(text: str) -> str:
    """The page without the seconds that a query took."""
    return re.sub(r"(rows?) in \S+ s", r"\1", text)


def test_two_databases_stand_beside_each_other(filled: Path, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cell of the second has other content and one value more than twice as large, and one is gone."""
    monkeypatch.setattr("orledger.explorer.mirror.LOOK_EVERY", 0.0)
    with TestClient(application(Explorer(filled)), base_url="http://localhost") as client:
        assert "--compare OTHER.duckdb" in client.get("/compare").text
    with TestClient(application(Explorer(filled, database)), base_url="http://localhost") as client:
        same = client.get("/compare").text
        assert "every number coincides bit by bit" in same
        con = connect(database, "write")
        con.execute("UPDATE record SET value = 2.5 * value WHERE cell_id = 'c2' AND arm = 'x'")
        con.execute("UPDATE cell SET content_hash = 'another' WHERE cell_id = 'c2'")
        con.execute("DELETE FROM cell WHERE cell_id = 'c7'")
        con.execute("DELETE FROM disposition")
        con.close()
        text = client.get("/compare").text
    assert "<b>7</b> cells in both" in text
    assert "<b>1</b> only in" in text
    assert 'href="/cell/c2">mine/c2</a>' in text
    assert ">2.5<" in text
    assert re.search(r"better</a></th><td[^>]*><span[^>]*>supported</span></td><td[^>]*><span[^>]*>not judged", text)
    assert HOSTILE not in text


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    left, right = tmp_path / "a" / "results.duckdb", tmp_path / "b" / "results.duckdb"
    assert told_apart(left, right) == ("a/results.duckdb", "b/results.duckdb")
    assert told_apart(left, tmp_path / "a" / "other.duckdb") == ("results.duckdb", "other.duckdb")


@pytest.mark.parametrize(
    "address",
    [
        f"/cell/{quote(HOSTILE)}",
        f"/hypothesis/{quote(HOSTILE)}",
        f"/table/{quote(HOSTILE, safe='')}",
        f"/test/{quote(HOSTILE, safe='')}",
        f"/number?table={quote(HOSTILE)}&row={quote(HOSTILE)}&column=x",
        f"/cells?case={quote(HOSTILE)}&order={quote(HOSTILE)}&page=99999999999999999999",
        f"/cells?key.{quote(HOSTILE)}={quote(HOSTILE)}",
        f"/metric?metric={quote(HOSTILE)}&group={quote(HOSTILE)}&arm={quote(HOSTILE)}",
        "/figure/..%2f..%2fetc%2fpasswd.svg",
        "/static/..%2f..%2f..%2fpyproject.toml",
        "/query.exe?q=SELECT+1",
        "/sql?q=%00%ff",
    ],
)
def test_hostile_addresses_are_answered_and_escaped(client: TestClient, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code in (200, 404)
    assert "<script>alert" not in answer.text
    assert "Traceback (most recent" not in answer.text
    assert "[project]" not in answer.text


@pytest.mark.parametrize("host", ["attacker.example", "127.0.0.1.attacker.example", "localhost:80@evil", "", "[::2]"])
def test_other_host_names_are_refused(client: TestClient, host: str) -> None:
    """A page elsewhere that points its name at this machine sends its own name along."""
    assert client.get("/", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize(
    ("address", "cookie", "status"),
    [
        ("/", "", 401),
        ("/", "orledger=wrong", 401),
        ("/", "x=secret; orledger=", 401),
        ("/?token=", "", 401),
        ("/?token=secre", "", 401),
        ("/static/explorer.js", "", 401),
        ("/", "orledger=secret", 200),
        ("/?a=1&token=secret", "", 307),
        ("//attacker.example/?token=secret", "", 307),
    ],
)
def test_the_token_is_asked_for_everywhere(database: Path, address: str, cookie: str, status: int) -> None:
    app = application(Explorer(database, token="secret", hosts=("*",)))
    with TestClient(app, base_url="http://machine.example", follow_redirects=False) as client:
        answer = client.get(f"http://machine.example{address}", headers={"Cookie": cookie} if cookie else {})
        assert answer.status_code == status
        if status == 307:
            assert re.match(r"/[^/]|/$", answer.headers["location"]), "never to another machine"
            assert ("?a=1" in answer.headers["location"]) == ("a=1" in address)
            assert "token" not in answer.headers["location"]
            assert "HttpOnly" in answer.headers["set-cookie"]
        assert "secret" not in answer.text


def test_queries_of_users_wait_for_their_turn_and_stop_at_the_limit(database: Path) -> None:
    """Six queries that never end, two at a time, each stopped by the limit, and the pages still answer."""
    limits = replace(Limits.from_environment(), seconds=0.2)
    endless = "SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c"
    with TestClient(application(Explorer(database, limits=limits)), base_url="http://localhost") as client:
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda _: client.get("/sql", params={"q": endless}).text, range(6)))
        assert all('class="problem"' in text for text in answers)
        assert client.get("/").status_code == 200
