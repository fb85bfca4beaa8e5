"""The HTML templates and what they can say: shared by the report, the comparison of two databases and the explorer."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from orledger.reports import jinja
from orledger.reports.report.differences import AGREE
from orledger.reports.report.wording import Names, claimed, headline, interval, number, ratio, short

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from jinja2 import Environment

TONES = {
    "supported": "v-good",
    "holds": "v-good",
    "matches": "v-good",
    "matches within rounding": "v-good",
    AGREE: "v-good",
    "attainable": "v-good",
    "refuted": "v-bad",
    "fails": "v-bad",
    "inconsistent": "v-bad",
    "impossible": "v-bad",
    "false as printed": "v-bad",
    "could not be checked": "v-mixed",
    "partially refuted": "v-mixed",
    "inconclusive": "v-mixed",
    "another convention": "v-mixed",
}


def slug(text: str) -> str:
    """``text`` as an HTML id."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text)


def moment(when: datetime | None) -> str:
    """A UTC time to the second."""
    return "" if when is None else f"{when:%Y-%m-%d %H:%M:%S} UTC"


def pretty(value: Any) -> str:
    """Data as indented JSON."""
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True, default=str)


def pretty_json(text: str | None) -> str:
    """JSON text, indented; text that is not JSON as it is."""
    try:
        return pretty(json.loads(text or "null"))
    except ValueError:
        return text or ""


def plainly(text: Any) -> Markup:
    """``text`` as HTML content, with quotation marks as they are: for queries, which are full of them."""
    return Markup(str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))  # noqa: S704 - escaped here


def judged(disposition: Mapping[str, Any]) -> str:
    """The tone of a verdict; muted where it supports what was not registered before the data, which confirms nothing."""
    tone = TONES.get(disposition["verdict"], "v-open")
    late = disposition["mode"] == "exploratory" or disposition["after_data"]
    return "v-open" if late and tone == "v-good" else tone


def environment(labels: Mapping[str, str] | None = None) -> Environment:
    """The HTML environment: everything is escaped unless our own code made it markup; ``labels`` are names for people."""
    names = Names(labels or {})
    env = jinja.environment(html=True, final_newline=False)
    env.filters |= {
        "cell": number,
        "short": short,
        "interval": interval,
        "claimed": claimed,
        "ratio": ratio,
        "plainly": plainly,
        "headline": headline,
        "slug": slug,
        "arm": lambda key: (labels or {}).get(key, key),
        "named": names.within,
        "moment": moment,
        "pretty": pretty,
        "pretty_json": pretty_json,
        "tone": lambda word: TONES.get(word, "v-open"),
        "judged": judged,
    }
    return env
