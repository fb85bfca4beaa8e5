"""Every file format that a command reads: a good file to start from, and the commands that read one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
CSV, MAPPING = EXAMPLES / "demsar2006.csv", EXAMPLES / "demsar2006.mapping.toml"

# (folder to work in, the odd file) -> the words of a command
Command = Callable[[Path, Path], list[str]]


@dataclass(frozen=True)
class Reads:
    """A format: a good file, its name, the commands that read one, and those too slow for the fast suite."""

    seed: bytes
    name: str
    commands: tuple[Command, ...]
    slow: tuple[Command, ...] = ()


def words(text: str) -> Command:
    """A command as it is typed: FILE is the odd file, DIR the folder to work in."""
    return lambda folder, file: [w.replace("FILE", str(file)).replace("DIR", str(folder)) for w in text.split()]


def _keys(made: Path) -> None:
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption())
    (made / "key").write_bytes(private)
    (made / "key.pub").write_bytes(key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH))


def formats(toy: Path, made: Path) -> dict[str, Reads]:
    """The formats by name; ``toy`` is a finished database, ``made`` a folder for the good files that have to be made."""
    from orledger.cli import main
    from orledger.schema import exchange

    export = made / "export"
    exchange.export(toy, export)
    _keys(made)
    receipt = made / "receipt.json"
    main(
        ["verify", "--no-contents", "--write-receipt", str(receipt), "--sign", str(made / "key"), "--db", str(toy)],
        standalone_mode=False,
    )
    pl.read_csv(CSV).write_parquet(made / "table.parquet")
    study = made / "study"
    shutil.copytree(EXAMPLES / "location" / "location_study", study / "location_study")
    (study / "study.toml").write_text(STUDY)

    def corpus(text: str) -> Command:
        """A command on an exported folder, CORPUS, in which one file is the odd one."""

        def command(folder: Path, file: Path) -> list[str]:
            shutil.copytree(export, folder / "lake" / "corpus", dirs_exist_ok=True)
            shutil.copy(file, folder / "lake" / "corpus" / file.name)
            return words(text)(folder, file)

        return command

    def inside(where: str) -> Command:
        """The run of a study in which the file called ``where`` is the odd one."""

        def command(folder: Path, file: Path) -> list[str]:
            shutil.copytree(study, folder / "study")
            shutil.copy(file, folder / "study" / where)
            for name in [n for n in sys.modules if n.partition(".")[0] == "location_study"]:
                del sys.modules[name]  # each folder has modules of its own
            sys.path[:] = [p for p in sys.path if not p.endswith("/study")]
            return words("run DIR/study --preset small --engine serial --only seed=0 --db DIR/new.duckdb")(folder, file)

        return command

    def dataset(cached: str, named: str) -> Command:
        """The audit of a dataset of which one file, in the cache or in a folder, is the odd one."""

        def command(folder: Path, file: Path) -> list[str]:
            where = folder / "data"
            where.mkdir()
            for name, content in (("yacht.csv", YACHT), ("yacht.json", b'{"origin": "x", "sha256": "y"}')):
                (where / name).write_bytes(content)
            shutil.copy(file, where / named)
            return words(f"datasets audit yacht --offline {cached} DIR/data")(folder, file)

        return command

    def imported(table: object, mapping: object) -> Command:
        return words(f"import {table} --mapping {mapping} --db DIR/new.duckdb")

    document = tuple(words(f"recheck {what} FILE") for what in ("check", "init"))
    parquet = (made / "table.parquet").read_bytes()
    return {
        "preset": Reads((EXAMPLES / "my_preset.toml").read_bytes(), "odd.toml", (words("run all --preset FILE --dry-run"), words("presets show FILE"), words("settings --preset FILE"))),
        "hypothesis": Reads((EXAMPLES / "demsar2006.toml").read_bytes(), "odd.toml", (words("register FILE --db DIR/new.duckdb"), words(f"audit --power --registry FILE --db {toy}"))),
        "mapping": Reads(MAPPING.read_bytes(), "odd.toml", (imported(CSV, "FILE"),)),
        "table": Reads(CSV.read_bytes(), "odd.csv", (imported("FILE", MAPPING), words("init FILE --better higher")), (words("study FILE --better higher --no-pdf"),)),
        "Parquet table": Reads(parquet, "odd.parquet", (imported("FILE", MAPPING), words("init FILE --better higher")), (words("study FILE --better higher --no-pdf"),)),
        "query": Reads(QUERY, "odd.sql", (words(f"sql -f FILE --db {toy} --json --time-limit 5"), words(f"sql -f FILE --lake {export} --time-limit 5"))),
        "receipt": Reads(receipt.read_bytes(), "odd.json", (words(f"verify --receipt FILE --db {toy} --no-contents"),)),
        "public key": Reads((made / "key.pub").read_bytes(), "odd.pub", (words(f"verify --receipt {receipt} --key FILE --db {toy} --no-contents"),)),
        "private key": Reads((made / "key").read_bytes(), "odd", (words(f"verify --write-receipt DIR/r.json --sign FILE --db {toy} --no-contents"),)),
        "manifest": Reads((export / "manifest.json").read_bytes(), "manifest.json", (corpus("db import DIR/lake/corpus --db DIR/new.duckdb"), corpus("db merge DIR/new.duckdb DIR/lake/corpus"), corpus("sql SELECT/**/*/**/FROM/**/cell --lake DIR/lake"))),
        "corpus": Reads((export / "fact.parquet").read_bytes(), "fact.parquet", (corpus("db import DIR/lake/corpus --db DIR/new.duckdb"), corpus("sql FROM/**/fact --lake DIR/lake"))),
        "database": Reads(toy.read_bytes(), "odd.duckdb", tuple(map(words, DATABASE)), tuple(map(words, PAGES))),
        "annotations": Reads((EXAMPLES / "recheck" / "subleq.toml").read_bytes(), "odd.toml", (words("recheck check --annotations FILE"), words("recheck check --power --annotations FILE"))),
        "LaTeX document": Reads(LATEX, "odd.tex", (*document, words(f"tables --check FILE --db {toy}"))),
        "Markdown document": Reads(MARKDOWN, "odd.md", document),
        "HTML document": Reads(HTML, "odd.html", document),
        "CSV document": Reads(b"arm,mean,sd,n\na,1.5,0.2,10\nb,1.7,0.3,10\nall,1.6,,20\n", "odd.csv", document),
        "study.toml": Reads(STUDY.encode(), "study.toml", (inside("study.toml"),)),
        "catalogue": Reads((study / "location_study" / "catalog.toml").read_bytes(), "catalog.toml", (inside("location_study/catalog.toml"),)),
        "views": Reads((study / "location_study" / "views" / "errors.sql").read_bytes(), "errors.sql", (inside("location_study/views/errors.sql"),)),
        "dataset": Reads(YACHT, "yacht.csv", (dataset("--data-dir", "yacht.csv"), dataset("--cache-dir", "yacht.csv"))),
        "dataset note": Reads(b'{"origin": "OpenML 42370", "sha256": "0123"}', "yacht.json", (dataset("--cache-dir", "yacht.json"),)),
    }  # fmt: skip


DATABASE = (
    "db check --db FILE", "db info --db FILE", "db export DIR/out --db FILE", "db merge DIR/new.duckdb FILE", "db migrate --db FILE",
    "status --db FILE", "verify --db FILE", "sql FROM/**/cell --db FILE", "compare FILE FILE", "audit --db FILE",
)  # fmt: skip
PAGES = (
    "tables --out DIR/t --db FILE", "figures --out DIR/f --db FILE", "report --no-pdf --out DIR/r.html --db FILE",
    "findings --out DIR/f.md --db FILE", "db snapshot DIR/s.duckdb --db FILE",
)  # fmt: skip
STUDY = """name = "place"
title = "Three estimates"
presets = "location_study/presets"
hypotheses = "location_study/hypotheses"
views = "location_study/views"
tables = ["location_study.tables"]
figures = ["location_study.figures"]
[cases.location]
package = "location_study"
title = "Estimates of a location"
[labels]
mean = "mean"
"""
QUERY = (
    b"WITH x AS (SELECT cell_id, value FROM record WHERE idx IS NULL) SELECT c.name, max(value) AS m\n"
    b"FROM cell c JOIN x USING (cell_id) GROUP BY ALL ORDER BY m DESC LIMIT 3 -- the largest\n"
)
YACHT = ("a,b,residuary_resistance\n" + "".join(f"{k},{k * k % 7},{k * 1.5 + k % 3}\n" for k in range(30))).encode()
LATEX = rb"""\documentclass{article}
\begin{document}
We tested 48 people (mean age 31.5, SD 4.2); 12 (25\%) were women, $t(46) = 2.31$, $p = .025$.
\begin{table}\caption{Means}\label{tab:a}
\begin{tabular}{lrr} arm & mean & sd \\ a & 1.5 & 0.2 \\ b & 1.7 & 0.3 \\ \end{tabular}
\end{table}
\end{document}
"""
MARKDOWN = b"""# Results

Of 48 people 12 (25%) were women, *t*(46) = 2.31, p = .025, 95% CI [0.2, 1.4].

| arm | mean | sd |
|---|---|---|
| a | 1.5 | 0.2 |
| b | 1.7 | 0.3 |
"""
HTML = b"""<html><body><p>Of 48 people 12 (25%) were women, <i>t</i>(46) = 2.31, p = .025.</p>
<table><tr><th>arm</th><th>mean</th></tr><tr><td>a</td><td>1.5</td></tr><tr><td>b</td><td>1.7</td></tr></table></body></html>
"""
