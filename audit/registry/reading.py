"""Hypothesis files: from TOML to checked specs, every mistake named by file, table, key and expectation."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

from orledger import studies
from orledger.audit.registry.hypotheses import (
    CLAIM_STATS,
    CLAIMS,
    TESTS,
    Claim,
    Comparison,
    Hypothesis,
    Rule,
    Term,
)
from orledger.audit.registry.quantity_reading import QUANTITY_KEYS, only, read_quantity
from orledger.audit.registry.words import OUTCOMES, STATES, Refusals, Verdict
from orledger.audit.statistics.dispersion import MEASURES
from orledger.audit.statistics.result import SIDES
from orledger.toml_tables import Table, TableError, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from orledger.audit.registry.quantities import Quantity
    from orledger.study import Study

COMPARISON_DEFAULTS = (
    "alpha", "level", "pair", "unit", "better", "transform", "blocked", "independent_when", "coarser", *QUANTITY_KEYS,
)  # fmt: skip
# The option without which a kind of claim says nothing.
NEEDED = {
    "at_most": "limit", "at_least": "limit", "ordering": "stat", "best": "stat", "monotone": "along", "resampled": "along",
}  # fmt: skip
SIDE_NAMES = ("a", "b", "x", "y")
COMPARING = ("never_worse", "ordering", "best")
# Columns that the queries behind a quantity have beside the keys.
RESERVED = ("value", "points", "cell_id", "side", "state", "reason", "refusal", "n")
MOST_VARIANTS = 2_000  # of one table
MOST_DRAWS = 1_000_000
PAIRED = ("signed_rank", "sign", "sign_anytime", "mcnemar", "fisher", "improvement")
UNIT_TESTS = ("signed_rank", "sign", "sign_anytime")  # tests of one difference per unit
MARGIN = ("signed_rank", "sign")


def read_hypothesis(path: Path) -> Hypothesis:
    """The hypothesis in the TOML file at ``path``."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TableError(f"{path}: cannot be read as a TOML text: {error}") from error
    return parse_hypothesis(text, path.name)


def shipped_hypotheses(chosen: Iterable[Study] | None = None) -> list[Hypothesis]:
    """The hypotheses that come with ``chosen`` studies (all installed ones by default), in order of their files."""
    found = studies.installed() if chosen is None else chosen
    return [parse_hypothesis(text, name) for s in found for name, text in s.files("hypotheses", ".toml").items()]


def parse_hypothesis(text: str, file: str, *, stored: bool = False) -> Hypothesis:
    """The hypothesis in a TOML ``text``; ``file`` is the name that messages use.

    ``stored``: the text was registered, perhaps by an earlier version, and what it asks for stands.
    """
    top = parse(text, file)
    head = top.table("hypothesis")
    defaults = _defaults(top)
    comparisons = [c for t in top.tables("comparison", []) for c in _comparisons(t, defaults)]
    claims = [c for t in top.tables("claim", []) for c in _claims(t, defaults)]
    known = _unique(top, [c.id for c in comparisons], [c.id for c in claims])
    comparisons = [_with_noise(file, c, {c.id: c for c in claims}, stored=stored) for c in comparisons]
    mode = head.choice("mode", ("registered", "exploratory"))
    disposition = top.table("disposition", None)
    needs, rules, otherwise, reason = _disposition(disposition, known) if disposition else ((), (), None, "")
    if disposition is None and mode == "registered":
        raise head.fail("mode", "exploratory in a file without a table [disposition]: it describes and decides nothing")
    hypothesis = Hypothesis(
        id=head.text("id"),
        title=head.text("title"),
        statement=head.text("statement"),
        mode=mode,
        comparisons=tuple(comparisons),
        claims=tuple(claims),
        needs=needs,
        rules=rules,
        otherwise=otherwise,
        otherwise_reason=reason,
        file=file,
        text=text,
        history=tuple(_correction(t) for t in head.tables("earlier", [])),
    )
    for table in (head, top):
        table.done()
    return hypothesis


def _correction(t: Table) -> dict[str, str]:
    """An earlier version of the text, corrected after results had been seen."""
    found = {"hash": t.text("hash"), "date": t.text("date"), "note": t.text("note")}
    if re.fullmatch(r"[0-9a-f]{64}", found["hash"]) is None:
        raise t.fail("hash", "the SHA-256 of the earlier text, 64 hexadecimal digits")
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", found["date"]) is None:
        raise t.fail("date", "the day of the correction, such as 2026-01-31")
    t.done()
    return found


def _disposition(t: Table, known: dict[str, str]) -> tuple[tuple[str, ...], tuple[Rule, ...], Verdict, str]:
    """What a verdict needs, the rules in order, and the verdict with its reason when none of them applies."""
    needs = t.texts("needs", ())
    for name in needs:
        if name not in known:
            raise t.fail("needs", f"ids of comparisons or claims of this file ({name!r} is none)")
    rules = tuple(_rule(rule, known) for rule in t.tables("rule"))
    found = needs, rules, Verdict(t.choice("otherwise", tuple(Verdict))), t.text("otherwise_reason")
    t.done()
    return found


def _with_noise(file: str, comparison: Comparison, claims: dict[str, Claim], *, stored: bool) -> Comparison:
    """The comparison, if its run-to-run floor is measured where it looks and nowhere else: a floor is one number.

    A text that was registered before this was asked keeps its comparison and loses the floor.
    """
    if comparison.noise is None:
        return comparison
    place = f"{file}: comparison {comparison.id!r}, key 'noise'"
    claim = claims.get(comparison.noise)
    if claim is None:
        raise TableError(f"{place}: expected the id of a claim, found {comparison.noise!r}")
    for key in (k for k in comparison.pair if k in claim.pair):
        found = {dict(q.where).get(key) for _, q in (*comparison.sides, *claim.sides)}
        condition = found.pop() if len(found) == 1 else None
        if condition is None or condition.operator != "eq":
            if stored:
                return replace(comparison, noise=None)
            raise TableError(
                f"{place}: expected a claim about the same {key}; {claim.id!r} is one number, so both must name one {key} in where"
            )
    return comparison


def _defaults(top: Table) -> dict[str, Any]:
    table: Table = top.table("defaults", Table({}, top.file, "defaults"))
    table.seen.update(COMPARISON_DEFAULTS)
    table.done()
    return table.data


def _unique(top: Table, comparisons: list[str], claims: list[str]) -> dict[str, str]:
    known: dict[str, str] = {}
    for kind, names in (("comparison", comparisons), ("claim", claims)):
        for name in names:
            if name in known:
                raise TableError(
                    f"{top.file}: table [{kind}], key 'id': expected a name used once, found {name!r} again"
                )
            known[name] = kind
    return known


def _comparisons(t: Table, defaults: dict[str, Any]) -> Iterator[Comparison]:
    """The comparisons of one table: one, or one per opponent (against), key value (for_each) or pair of them (pairwise)."""
    own = "coarser" in t.data
    t.data = {**only(defaults, COMPARISON_DEFAULTS), **t.data}
    name, title = t.text("id"), t.text("title")
    test = t.choice("test", TESTS)
    shared = {
        "test": test,
        "transform": t.choice("transform", ("none", "log10"), "none"),
        "side": t.choice("side", SIDES, "two-sided"),
        "better": t.choice("better", ("lower", "higher"), "lower"),
        "alpha": t.number("alpha", 0.05),
        "level": t.number("level", 0.95),
        "family": t.text("family", None),
        "blocked": t.choice("blocked", ("mean", "median"), None),
        "resolution": t.number("resolution", None),
        "nominal": t.number("nominal", None),
        "noise": t.text("noise", None),
        "independent_when": _setting(t),
        "margin": t.number("margin", None),
        "refusals": Refusals(t.choice("refusals", tuple(Refusals), Refusals.DROP)),
        "expect": t.number("expect", None),
        "units": t.integer("units", None),
    }
    pair = _keys(t, "pair")
    unit = _keys(t, "unit", pair)
    if not set(unit) <= set(pair):
        raise t.fail("unit", f"keys among those of pair ({', '.join(pair)})")
    coarser = _keys(t, "coarser", unit[:1] if len(unit) > 1 else ())
    if not own and not set(coarser) < set(unit):
        coarser = ()
    if not set(coarser) <= set(unit):
        raise t.fail("coarser", f"keys among those of unit ({', '.join(unit)})")
    _check_options(t, test, shared)
    for key in ("alpha", "level"):
        if not 0 < shared[key] < 1:
            raise t.fail(key, "a number between 0 and 1")
    if shared["resolution"] is not None and shared["resolution"] <= 0:
        raise t.fail("resolution", "a number above 0")
    if shared["nominal"] is not None and not 0 < shared["nominal"] < 1:
        raise t.fail("nominal", "a proportion between 0 and 1")
    variants = _some(t)
    t.done()
    for suffix, words, sides in variants:
        _check_sides(t, test, sides)
        yield Comparison(
            id=name + suffix, title=title + words, sides=sides, pair=pair, unit=unit, coarser=coarser, **shared
        )


def _check_options(t: Table, test: str, shared: dict[str, Any]) -> None:
    """Refuses options that a test could not use, or not with the value given."""
    for key, tests in (("margin", MARGIN), ("refusals", UNIT_TESTS), ("expect", UNIT_TESTS)):
        if key in t.data and test not in tests:
            raise t.fail(key, f"to stand with one of {', '.join(tests)}, not with {test}")
    if shared["refusals"] == Refusals.LOSS and test == "signed_rank":
        raise t.fail(
            "refusals", f"{Refusals.WORST!r} or {Refusals.BOUNDS!r} with signed_rank: a loss has no rank of its own"
        )
    if shared["refusals"] == Refusals.WORST and test != "signed_rank":
        raise t.fail("refusals", f"{Refusals.LOSS!r} or {Refusals.BOUNDS!r} with {test}: signs have no ranks")
    if shared["margin"] is not None and shared["margin"] <= 0:
        raise t.fail("margin", "a number above 0")
    if shared["expect"] is not None and not 0.5 < shared["expect"] < 1:
        raise t.fail("expect", "a probability of superiority between 0.5 and 1")
    if shared["units"] is not None and shared["units"] < 1:
        raise t.fail("units", "a whole number of at least 1")


def _setting(t: Table) -> tuple[str, str] | None:
    table = t.table("independent_when", None)
    if table is None:
        return None
    if len(table.data) != 1:
        raise t.fail("independent_when", "one setting with the value that makes cells independent")
    name = next(iter(table.data))
    return name, table.text(name)


def _check_sides(t: Table, test: str, sides: tuple[tuple[str, Quantity], ...]) -> None:
    count = len(sides)
    if test in PAIRED and count != 2:
        raise TableError(
            f"{t.file}: table [{t.place}]: {test} compares two sides, found {count}; give arms, arm and against, or a and b"
        )
    if test in ("friedman", "skillings_mack") and count < 3:
        raise TableError(f"{t.file}: table [{t.place}], key 'arms': expected at least 3 arms for {test}, found {count}")
    if test in ("spearman", "slope") and [n for n, _ in sides] != ["x", "y"]:
        raise TableError(f"{t.file}: table [{t.place}]: {test} needs the tables x and y")
    if test in ("proportion", "median", "interquartile_mean") and count != 1:
        raise TableError(f"{t.file}: table [{t.place}]: {test} looks at one quantity, found {count}")
    if test == "mean_ranks" and count < 2:
        raise TableError(f"{t.file}: table [{t.place}], key 'arms': expected at least 2 arms for {test}, found {count}")


def _keys(t: Table, key: str, default: Any = ...) -> tuple[str, ...]:
    """Names of keys, each once; a name that the queries use for a column of their own is refused."""
    names: tuple[str, ...] = t.texts(key) if default is ... else t.texts(key, default)
    for name in names:
        if names.count(name) > 1:
            raise t.fail(key, f"every key once ({name!r} stands {names.count(name)} times)")
        if name in RESERVED:
            raise t.fail(key, f"keys by another name than {name!r}, which the queries use themselves")
    return names


def _check_claim(t: Table, options: dict[str, Any]) -> None:
    """Refuses keys a claim could never find, and numbers it could not use."""
    pair, kind = options["pair"], options["kind"]
    for name in options["within"]:
        if name not in pair:
            raise t.fail("within", f"keys among those of pair ({', '.join(pair)}); {name!r} is none")
    if not set(options["unit"]) <= set(pair):
        raise t.fail("unit", f"keys among those of pair ({', '.join(pair)})")
    if not 0 < options["level"] < 1:
        raise t.fail("level", "a number between 0 and 1")
    if options["refused_as"] is not None and kind not in ("at_most", "at_least"):
        raise t.fail("refused_as", f"to stand with at_most or at_least, not with {kind}")
    if kind in ("monotone", "resampled") and options["along"] is not None and options["along"] not in pair:
        raise t.fail("along", f"one of the keys of pair ({', '.join(pair)})")
    if kind == "resampled" and not options["within"]:
        raise t.fail("within", "the keys of the groups whose spread is compared: a claim of kind resampled needs them")
    if kind == "resampled" and not set(pair) - {*options["within"], options["along"]}:
        raise t.fail("pair", "a further key beside those of within and along: a group needs several cells")
    if not 1 <= options["draws"] <= MOST_DRAWS:
        raise t.fail("draws", f"a whole number from 1 to {MOST_DRAWS}")
    if options["seed"] < 0:
        raise t.fail("seed", "a whole number that is not negative")


def _some(t: Table) -> list[tuple[str, str, tuple[tuple[str, Quantity], ...]]]:
    """The variants of a table, if there are not too many to be evaluated."""
    found = list(islice(_variants(t), MOST_VARIANTS + 1))
    if len(found) > MOST_VARIANTS:
        raise TableError(
            f"{t.file}: table [{t.place}]: it stands for more than {MOST_VARIANTS} comparisons",
            hint="list fewer values in for_each, pairwise or against",
        )
    return found


def _variants(t: Table) -> Iterator[tuple[str, str, tuple[tuple[str, Quantity], ...]]]:
    """Suffix of the id, addition to the title, and sides, for every comparison or claim that a table stands for."""
    each = t.table("for_each", None)
    pairwise = t.table("pairwise", None)
    if pairwise is not None:
        key, values = _one_key(pairwise)
        for v, w in combinations(values, 2):
            sides = tuple((str(u), read_quantity(t, {}, {key: u})) for u in (v, w))
            yield f"/{v}-{w}", f": {v} against {w}", sides
        return
    if each is None:
        yield from _opponents(t, "", "", {})
        return
    key, values = _one_key(each)
    for v in values:
        yield from _opponents(t, f"/{v}", f", {key} {v}", {key: v})


def _opponents(
    t: Table, suffix: str, words: str, where: dict[str, Any]
) -> Iterator[tuple[str, str, tuple[tuple[str, Quantity], ...]]]:
    against = t.texts("against", None)
    if against is not None:
        if "arm" not in t.data:
            raise t.fail("arm", "the arm that is compared against the others")
        for other in against:
            sides = ((t.data["arm"], read_quantity(t, {}, where)), (other, read_quantity(t, {"arm": other}, where)))
            yield f"{suffix}/{other}", f"{words}, against {other}", sides
        return
    arms = t.texts("arms", None)
    if arms is not None:
        yield suffix, words, tuple((arm, read_quantity(t, {"arm": arm}, where)) for arm in arms)
        return
    named = [(n, t.table(n)) for n in SIDE_NAMES if n in t.data]
    if named:
        for _, table in named:
            for key in table.data:
                if key not in QUANTITY_KEYS:
                    raise table.fail(key, f"one of the keys of a quantity ({', '.join(QUANTITY_KEYS)})")
        yield suffix, words, tuple((n, read_quantity(t, table.data, where)) for n, table in named)
        return
    yield suffix, words, (("value", read_quantity(t, {}, where)),)


def _one_key(t: Table) -> tuple[str, list[Any]]:
    if len(t.data) != 1 or not isinstance(next(iter(t.data.values())), list):
        raise TableError(f"{t.file}: table [{t.place}]: expected one key with the list of its values, found {t.data!r}")
    return next(iter(t.data.items()))


def _claims(t: Table, defaults: dict[str, Any]) -> Iterator[Claim]:
    pair = t.data.get("pair", defaults.get("pair", ()))
    inherited = only(defaults, ("pair", "better", "unit", *QUANTITY_KEYS))
    if not set(inherited.get("unit", ())) <= set(pair):
        del inherited["unit"]
    t.data = {**inherited, **t.data}
    name, statement = t.text("id"), t.text("statement")
    kind = t.choice("kind", CLAIMS)
    options = {
        "kind": kind,
        "pair": _keys(t, "pair"),
        "combine": t.choice("combine", ("ratio", "difference"), None),
        "stat": t.choice("stat", CLAIM_STATS, None),
        "within": _keys(t, "within", ()),
        "limit": t.number("limit", None),
        "better": t.choice("better", ("lower", "higher"), "lower"),
        "tolerance": t.number("tolerance", 0.0),
        "strict": t.flag("strict"),
        "direction": t.choice("direction", ("increasing", "decreasing"), "increasing"),
        "along": t.text("along", None),
        "order": t.texts("order", ()),
        "at_least": t.number("at_least", None),
        "at_most": t.number("at_most", None),
        "draws": t.integer("draws", 4000),
        "seed": t.integer("seed", 0),
        "unit": _keys(t, "unit", ()),
        "level": t.number("level", 0.95),
        "refused_as": t.number("refused_as", None),
    }
    _check_claim(t, options)
    needed = NEEDED.get(kind)
    if needed is not None and options[needed] is None:
        raise t.fail(needed, f"a value: a claim of kind {kind} needs it")
    if kind == "resampled" and options["stat"] not in MEASURES:
        raise t.fail("stat", f"a measure of spread ({', '.join(MEASURES)})")
    if options["stat"] == "share" and (
        kind not in ("at_most", "at_least", "measured") or options["combine"] is not None
    ):
        raise t.fail("stat", "another statistic: a share is for at_most, at_least and measured, without combine")
    if kind == "count" and options["at_least"] is None and options["at_most"] is None:
        raise t.fail("at_least", "a number of units, or a share of them below 1 (or at_most)")
    variants = _some(t)
    t.done()
    for suffix, words, sides in variants:
        if kind in COMPARING and len(sides) < 2:
            raise TableError(
                f"{t.file}: table [{t.place}]: {kind} compares sides, found {len(sides)}; give arms, or a and b"
            )
        if options["combine"] is not None and len(sides) != 2:
            raise t.fail("combine", f"two sides to make one value of ({len(sides)} given)")
        if kind == "never_worse" and len(sides) != 2:
            raise TableError(f"{t.file}: table [{t.place}]: never_worse compares two sides, found {len(sides)}")
        yield Claim(id=name + suffix, statement=statement + words, sides=sides, **options)


def _rule(t: Table, known: dict[str, str]) -> Rule:
    rule = Rule(
        verdict=Verdict(t.choice("verdict", tuple(Verdict))),
        reason=t.text("reason"),
        all=_terms(t, "all", known),
        any=_terms(t, "any", known),
        none=_terms(t, "none", known),
    )
    if not (rule.all or rule.any or rule.none):
        raise t.fail("all", "at least one condition in all, any or none")
    t.done()
    return rule


def _terms(t: Table, key: str, known: dict[str, str]) -> tuple[Term, ...]:
    """Conditions such as "rmse/released is less" and "tracks-oracle holds"."""
    terms = []
    for text in t.texts(key, ()):
        match = re.fullmatch(r"(\S+)\s+(?:is\s+)?(\S+)", text.strip())
        if match is None or match[1] not in known:
            raise t.fail(
                key,
                f'conditions such as "<comparison> is less" or "<claim> holds" ({text!r} names nothing in this file)',
            )
        allowed = OUTCOMES if known[match[1]] == "comparison" else STATES
        if match[2] not in allowed:
            raise t.fail(key, f"one of {', '.join(allowed)} after {match[1]!r} (in {text!r})")
        terms.append(Term(match[1], match[2]))
    return tuple(terms)
