"""Jinja for HTML and Markdown: the templates that ship, where a name that nobody gave is an error."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def environment(*, html: bool, final_newline: bool = True) -> Environment:
    """What renders our templates: everything is escaped in ``html``; in Markdown every text goes through a filter of its own."""
    return Environment(
        loader=PackageLoader("orledger.templates", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=html,  # noqa: S701 - off for Markdown alone
        keep_trailing_newline=final_newline,
    )


def asset(name: str) -> Markup:
    """A style sheet or script that ships, to stand inside a page."""
    return Markup(files("orledger.templates").joinpath(name).read_text(encoding="utf-8"))  # noqa: S704 - our own file
