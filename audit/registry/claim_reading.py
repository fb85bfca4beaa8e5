"""Reading the claims of a hypothesis file: which predicate on which sides, with which options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orledger.audit.registry.hypotheses import CLAIM_STATS, CLAIMS, Claim
from orledger.audit.registry.quantity_reading import QUANTITY_KEYS, only
from orledger.audit.registry.side_reading import read_keys, read_sides
from orledger.audit.statistics.dispersion import MEASURES
from orledger.toml_tables import TomlError, TomlTable
from orledger.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

# The option without which a kind of claim says nothing.
NEEDED = {
    "at_most": "limit", "at_least": "limit", "ordering": "stat", "best": "stat", "monotone": "along", "resampled": "along",
}  # fmt: skip
COMPARING = ("never_worse", "ordering", "best", "resampled")
ONE_VALUE = ("at_most", "at_least", "measured")
MOST_DRAWS = 1_000_000


def read_claims(t: TomlTable, defaults: dict[str, Any], *, stored: bool = False) -> Iterator[Claim]:
    """The claims of one table: one, or one per opponent, key value or pair of them.

    A ``stored`` text may have sides, or a ``combine``, that its claim leaves out of account; a new one is refused.
    """
    t.data = {**only(defaults, ("pair", "better", *QUANTITY_KEYS)), **t.data}
    name, statement = t.text("id"), t.text("statement")
    kind = t.choice("kind", CLAIMS)
    pair = read_keys(t, "pair")
    if "unit" in defaults and "unit" not in t.data:
        unit = read_keys(TomlTable(defaults, t.file, "defaults"), "unit")
        t.data |= {"unit": [*unit]} if set(unit) <= set(pair) else {}
    options = {
        "kind": kind,
        "pair": pair,
        "combine": t.choice("combine", ("ratio", "difference"), None),
        "stat": t.choice("stat", CLAIM_STATS, None),
        "within": read_keys(t, "within", ()),
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
        "unit": read_keys(t, "unit", ()),
        "level": t.number("level", 0.95),
        "refused_as": t.number("refused_as", None),
    }
    _check_claim(t, options)
    needed = NEEDED.get(kind)
    if needed is not None and options[needed] is None:
        raise t.fail(needed, f"a value: a claim of kind {kind} needs it")
    if kind == "resampled" and options["stat"] not in MEASURES:
        raise t.fail("stat", f"a measure of spread ({', '.join(MEASURES)})")
    if options["stat"] == "share" and (kind not in ONE_VALUE or options["combine"] is not None):
        raise t.fail("stat", "another statistic: a share is for at_most, at_least and measured, without combine")
    if options["combine"] is not None and kind not in ONE_VALUE and not stored:
        raise t.fail("combine", f"to stand with at_most, at_least or measured, not with {kind}")
    if kind == "count" and options["at_least"] is None and options["at_most"] is None:
        raise t.fail("at_least", "a number of units, or a share of them below 1 (or at_most)")
    variants = read_sides(t)
    t.done()
    for suffix, words, sides in variants:
        if kind in COMPARING and len(sides) < 2 and not (stored and kind == "resampled"):
            raise TomlError(
                f"{t.file}: table [{t.place}]: {kind} compares sides, found {len(sides)}; give arms, or a and b"
            )
        if options["combine"] is not None and len(sides) != 2:
            raise t.fail("combine", f"two sides to make one value of ({len(sides)} given)")
        if kind == "never_worse" and len(sides) != 2:
            raise TomlError(f"{t.file}: table [{t.place}]: never_worse compares two sides, found {len(sides)}")
        used = 2 if kind == "count" or options["combine"] is not None else 1
        if kind in (*ONE_VALUE, "count") and len(sides) > used and not stored:
            raise TomlError(
                f"{t.file}: table [{t.place}]: {kind} looks at {counted(used, 'side')}, found {len(sides)}",
                hint="give combine, or one claim for every arm: for_each = { arm = [...] }",
            )
        yield Claim(id=name + suffix, statement=statement + words, sides=sides, **options)


def _check_claim(t: TomlTable, options: dict[str, Any]) -> None:
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
