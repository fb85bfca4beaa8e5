"""The schema of annotations: it is what ships, it holds for every annotation there is, and it refuses what the reader refuses."""

import copy
import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

import orledger.paper.published  # noqa: F401  (registers the rules that the paper brings)
from orledger.audit.recheck.annotation_schema import annotation_schema
from orledger.audit.recheck.data import parse_publication
from orledger.audit.recheck.rules import RULES
from orledger.errors import UsageError

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "docs" / "examples" / "recheck" / "annotations.schema.json"
EXAMPLES = sorted((ROOT / "docs" / "examples" / "recheck").glob("*.toml"))
GENERAL = jsonschema.Draft202012Validator(annotation_schema())
ALL = jsonschema.Draft202012Validator(annotation_schema(RULES))

SMALL = {
    "place": "somewhere",
    "number": [
        {"id": "a", "printed": "1.5", "meaning": "a", "line": 3},
        {"id": "b", "printed": "3.0", "meaning": "b", "kind": "value"},
    ],
    "check": [{"target": "b", "rule": "ratio", "of": ["a", 0.5], "or": [{"rule": "same", "of": "a"}]}],
}
# where, what is put there
MISTAKES = {
    "unknown key of the file": ((), "places", "x"),
    "unknown key of a number": (("number", 0), "colour", "red"),
    "unknown kind": (("number", 0), "kind", "colour"),
    "digits that are no text": (("number", 0), "printed", 1.5),
    "line that is no number": (("number", 0), "line", "3"),
    "line below one": (("number", 0), "line", 0),
    "misspelt rule": (("check", 0), "rule", "rato"),
    "misspelt operand": (("check", 0), "off", ["a"]),
    "operand of the wrong shape": (("check", 0), "of", "a"),
}


def test_the_schema_that_ships_is_that_of_the_reader():
    shipped = json.loads(SHIPPED.read_text(encoding="utf-8"))
    assert shipped == annotation_schema()
    jsonschema.Draft202012Validator.check_schema(shipped)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda f: f.stem)
def test_the_examples_meet_the_schema_and_can_be_read(file):
    text = file.read_text(encoding="utf-8")
    assert list(GENERAL.iter_errors(tomllib.loads(text))) == []
    assert parse_publication({file.name: text}).checks


def shape(value, key=None):
    """What a schema looks at: keys, kinds of values, and the names of rules and kinds."""
    if isinstance(value, dict):
        return tuple(sorted((k, shape(v, k)) for k, v in value.items()))
    if isinstance(value, list):
        return ("list", *sorted({shape(v, key) for v in value}, key=repr))
    return (type(value).__name__, value if key in ("rule", "kind") else None)


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_annotation_of_the_paper_meets_the_schema(every):
    """The fast suite looks at the first entry of every shape; there are thousands of a few hundred shapes."""
    files = sorted((ROOT / "paper" / "published").glob("*.toml"))
    assert len(files) > 20
    wrong, seen = {}, set()
    for file in files:
        content = tomllib.loads(file.read_text("utf-8"))
        for section, entries in content.items():
            if isinstance(entries, list) and not every:
                of = {(section, shape(e)): e for e in reversed(entries)}  # the first of each shape
                content[section] = [e for s, e in of.items() if s not in seen]
                seen.update(of)
        wrong[file.name] = [e.message for e in ALL.iter_errors(content)]
    assert wrong == {f.name: [] for f in files}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_schema_and_reader_refuse_the_same_mistakes(mistake):
    where, key, value = MISTAKES[mistake]
    content = copy.deepcopy(SMALL)
    assert list(GENERAL.iter_errors(content)) == []
    place = content
    for step in where:
        place = place[step]
    place[key] = value
    assert list(GENERAL.iter_errors(content)) != []
    from orledger.audit.recheck.checking import recheck

    with pytest.raises(UsageError):
        recheck(parse_publication({"notes.toml": _toml(content)}))


def _toml(content):
    """The small content as TOML: JSON arrays and texts are TOML values, tables are written out."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in content.items() if isinstance(value, str)]
    for kind in ("number", "check"):
        for entry in content[kind]:
            others = entry.pop("or", [])
            lines += [f"[[{kind}]]", *(f"{key} = {json.dumps(value)}" for key, value in entry.items())]
            for other in others:
                lines += [f"[[{kind}.or]]", *(f"{key} = {json.dumps(value)}" for key, value in other.items())]
    return "\n".join(lines)
