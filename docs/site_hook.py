"""What the documentation site needs besides docs/: the pages at the top of the repository, with their links turned."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
TOP = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")


def on_files(files: Files, config) -> Files:
    """Adds the pages of the top folder that exist, under their own names."""
    for name in TOP:
        if (ROOT / name).is_file():
            page = "start.md" if name == "README.md" else name
            files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page, config, files) -> str:
    """Links between docs/ and the top folder become links inside the site; to files that are no pages, links into the repository."""
    top = page.file.src_uri in {"start.md", *TOP}

    def turned(match: re.Match[str]) -> str:
        target = match.group(1)
        if re.match(r"[a-z]+:|#", target):
            return match.group(0)
        name, hash_, anchor = target.partition("#")
        inside = (
            name.removeprefix("docs/")
            if top and name.startswith("docs/")
            else name.removeprefix("../")
            if not top
            else name
        )
        if inside == "README.md":
            inside = "start.md"
        if inside.endswith((".md", ".png", ".svg")):
            return f"]({inside}{hash_}{anchor})"
        return f"]({config['repo_url'] or ''}{'' if top else 'docs/'}{name})" if config["repo_url"] else "](start.md)"

    return re.sub(r"\]\(([^)\s]+)\)", turned, markdown)
