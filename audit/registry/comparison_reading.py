"""Reading the comparisons of a hypothesis file: which test of which sides, on which units, with which options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orledger.audit.registry.hypotheses import TESTS, Comparison
from orledger.audit.registry.quantity_reading import QUANTITY_KEYS, only
from orledger.audit.registry.side_reading import read_keys, read_sides
from orledger.audit.registry.words import Refusals
from orledger.audit.statistics.result import SIDES
from orledger.toml_tables import TomlError, TomlTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.audit.registry.quantities import Quantity

COMPARISON_DEFAULTS = (
    "alpha", "level", "pair", "unit", "better", "transform", "blocked", "independent_when", "coarser", *QUANTITY_KEYS,
)  # fmt: skip
PAIRED = ("signed_rank", "sign", "sign_anytime", "mcnemar", "fisher", "improvement")
UNIT_TESTS = ("signed_rank", "sign", "sign_anytime")  # tests of one difference per unit
MARGIN = ("signed_rank", "sign")


def read_comparisons(t: TomlTable, defaults: dict[str, Any]) -> Iterator[Comparison]:
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
        "independent_when": t.optional("independent_when", _setting),
        "margin": t.number("margin", None),
        "refusals": Refusals(t.choice("refusals", tuple(Refusals), Refusals.DROP)),
        "expect": t.number("expect", None),
        "units": t.integer("units", None),
    }
    pair = read_keys(t, "pair")
    unit = read_keys(t, "unit", pair)
    if not set(unit) <= set(pair):
        raise t.fail("unit", f"keys among those of pair ({', '.join(pair)})")
    coarser = read_keys(t, "coarser", unit[:1] if len(unit) > 1 else ())
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
    variants = read_sides(t)
    t.done()
    for suffix, words, sides in variants:
        _check_sides(t, test, sides)
        yield Comparison(
            id=name + suffix, title=title + words, sides=sides, pair=pair, unit=unit, coarser=coarser, **shared
        )


def _check_options(t: TomlTable, test: str, shared: dict[str, Any]) -> None:
    """Refuses options that a test could not use, or not with the value given."""
    for key, tests in (("margin", MARGIN), ("refusals", UNIT_TESTS), ("expect", UNIT_TESTS)):
        if key in t.data and test not in tests:
            raise t.fail(key, f"to stand with one of {', '.join(tests)}, not with {test}")
    if shared["refusals"] == Refusals.LOSS and test == "signed_rank":
        raise t.fail(
            "refusals",
            f"{str(Refusals.WORST)!r} or {str(Refusals.BOUNDS)!r} with signed_rank: a loss has no rank of its own",
        )
    if shared["refusals"] == Refusals.WORST and test != "signed_rank":
        raise t.fail("refusals", f"{str(Refusals.LOSS)!r} or {str(Refusals.BOUNDS)!r} with {test}: signs have no ranks")
    if shared["margin"] is not None and shared["margin"] <= 0:
        raise t.fail("margin", "a number above 0")
    if shared["expect"] is not None and not 0.5 < shared["expect"] < 1:
        raise t.fail("expect", "a probability of superiority between 0.5 and 1")
    if shared["units"] is not None and shared["units"] < 1:
        raise t.fail("units", "a whole number of at least 1")


def _setting(t: TomlTable) -> tuple[str, str]:
    if len(t.data) != 1:
        raise TomlError(
            f"{t.file}: table [{t.place}]: expected one setting with the value that makes cells independent, found {t.data!r}"
        )
    name = next(iter(t.data))
    return name, t.text(name)


def _check_sides(t: TomlTable, test: str, sides: tuple[tuple[str, Quantity], ...]) -> None:
    count = len(sides)
    if test in PAIRED and count != 2:
        raise TomlError(
            f"{t.file}: table [{t.place}]: {test} compares two sides, found {count}; give arms, arm and against, or a and b"
        )
    if test in ("friedman", "skillings_mack") and count < 3:
        raise TomlError(f"{t.file}: table [{t.place}], key 'arms': expected at least 3 arms for {test}, found {count}")
    if test in ("spearman", "slope") and [n for n, _ in sides] != ["x", "y"]:
        raise TomlError(f"{t.file}: table [{t.place}]: {test} needs the tables x and y")
    if test in ("proportion", "median", "interquartile_mean") and count != 1:
        raise TomlError(f"{t.file}: table [{t.place}]: {test} looks at one quantity, found {count}")
    if test == "mean_ranks" and count < 2:
        raise TomlError(f"{t.file}: table [{t.place}], key 'arms': expected at least 2 arms for {test}, found {count}")
