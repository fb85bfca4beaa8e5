"""The pictures of the explorer in docs/img: ``make pictures``, or ``python docs/explorer_pictures.py FOLDER``.

The reference corpus is imported into FOLDER and looked at in Chromium; the picture of a run is taken while the smoke preset runs.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

DOCS = Path(__file__).parent
CHROMIUM = "/usr/bin/chromium"
SIZE = {"width": 1200, "height": 860}
CORPUS = {
    "overview": "/",
    "number": "/number?table=A&row=rel+0.01&column=gain",
    "hypothesis": "/hypothesis/H1",
    "metric": "/metric?metric=b/main/coverage&group=dataset&arm=cp&arm=or1&arm=dak",
    "cells": "/cells?case=a&block=rules&metric=rmse&key.grid=24",
}
SEEN = r"text=/^[2-4]\d of \d+ done/"  # cells of the run when its picture is taken


def orledger(*arguments: str) -> list[str]:
    """The command line of this environment."""
    return [sys.executable, "-m", "orledger", *arguments]


@contextmanager
def serving(database: Path) -> Iterator[str]:
    """The address of an explorer on ``database``."""
    command = orledger("serve", "--db", str(database), "--port", "0", "--no-open")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield next(w for line in server.stdout for w in line.split() if w.startswith("http://")).rstrip("/")
        finally:
            server.terminate()


def keep(page: Page, name: str) -> None:
    """The page as a small PNG: 64 colours are all it has."""
    image = Image.open(BytesIO(page.screenshot())).convert("RGB")
    image.quantize(64, dither=Image.Dither.NONE).save(DOCS / "img" / f"explorer_{name}.png", optimize=True)


def main(folder: Path) -> None:
    """Takes every picture."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus, run = folder / "results.duckdb", folder / "run.duckdb"
    for old in (*folder.glob("results.*"), *folder.glob("run.*")):
        old.unlink()
    subprocess.run(orledger("db", "import", "--db", str(corpus), str(DOCS / "results" / "corpus")), check=True)
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.set_default_timeout(600_000)
        with serving(corpus) as address:
            for name, path in CORPUS.items():
                page.goto(address + path)
                page.wait_for_load_state("networkidle")
                keep(page, name)
        command = orledger("run", "all", "--preset", "smoke", "--offline", "--db", str(run), "--snapshot-every", "1")
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as going:
            while not run.exists() and going.poll() is None:
                page.wait_for_timeout(100)
            with serving(run) as address:
                page.goto(f"{address}/run")
                page.wait_for_selector(SEEN)
                keep(page, "run")
            going.wait()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
