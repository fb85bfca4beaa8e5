"""Hypothesis files for the tests: a complete small one, and the frame around a single comparison or claim."""

from __future__ import annotations

from orledger.audit.registry.reading import parse_hypothesis

GOOD = """
[hypothesis]
id = "X"
title = "A title"
mode = "registered"
statement = "A statement."

[defaults]
case = "t"
block = "main"
metric = "m"
pair = ["k"]

[[comparison]]
id = "c"
title = "a against b"
test = "signed_rank"
arms = ["a", "b"]

[[claim]]
id = "w"
statement = "a is never worse"
kind = "never_worse"
arms = ["a", "b"]

[disposition]
needs = ["c"]
otherwise = "refuted"
otherwise_reason = "nothing else"

[[disposition.rule]]
verdict = "supported"
reason = "it is less"
all = ["c is less", "w holds"]
"""


def framed(body: str, pair: tuple[str, ...], supported: str) -> str:
    """A file whose only comparison or claim is ``body``, paired by ``pair``, supported when ``supported`` is the case."""
    keys = ", ".join(f'"{key}"' for key in pair)
    return f"""
[hypothesis]
id = "X"
title = "t"
mode = "registered"
statement = "s"
[defaults]
case = "t"
block = "main"
metric = "m"
pair = [{keys}]
{body}
[disposition]
otherwise = "refuted"
otherwise_reason = "r"
[[disposition.rule]]
verdict = "supported"
reason = "r"
all = ["{supported}"]
"""


def comparison(body: str):
    """The comparison of a file that holds nothing else, paired by split and rel."""
    text = framed('[[comparison]]\nid = "c"\ntitle = "t"\n' + body, ("split", "rel"), "c is less")
    return parse_hypothesis(text, "x.toml").comparisons[0]
