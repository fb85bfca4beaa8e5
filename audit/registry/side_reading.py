"""What a comparison or claim compares: its keys, and the sides of every one that a table stands for."""

from __future__ import annotations

from itertools import combinations, islice, product
from typing import TYPE_CHECKING, Any

from orledger.audit.registry.quantity_reading import QUANTITY_KEYS, read_quantity
from orledger.schema.accepted import QUERIED, reserved
from orledger.toml_tables import TomlError, TomlTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orledger.audit.registry.quantities import Quantity

SIDE_NAMES = ("a", "b", "x", "y")
MOST_VARIANTS = 2_000  # of one table


def read_keys(t: TomlTable, key: str, default: Any = ...) -> tuple[str, ...]:
    """Names of keys, each once; a name that the queries use for a column of their own is refused."""
    names: tuple[str, ...] = t.texts(key) if default is ... else t.texts(key, default)
    for name in names:
        if names.count(name) > 1:
            raise t.fail(key, f"every key once ({name!r} stands {names.count(name)} times)")
        if reserved(name, QUERIED):
            raise t.fail(key, f"keys by another name than {name!r}, which the queries use themselves")
    return names


def read_sides(t: TomlTable) -> list[tuple[str, str, tuple[tuple[str, Quantity], ...]]]:
    """The variants of a table, if there are not too many to be evaluated."""
    found = list(islice(_variants(t), MOST_VARIANTS + 1))
    if len(found) > MOST_VARIANTS:
        raise TomlError(
            f"{t.file}: table [{t.place}]: it stands for more than {MOST_VARIANTS} comparisons",
            hint="list fewer values in for_each, pairwise or against",
        )
    return found


def _variants(t: TomlTable) -> Iterator[tuple[str, str, tuple[tuple[str, Quantity], ...]]]:
    """Suffix of the id, addition to the title, and sides, for every comparison or claim that a table stands for."""
    each = t.table("for_each", None)
    pairwise = t.table("pairwise", None)
    if pairwise is not None:
        key, values = _one_key(pairwise)
        if len(values) < 2:
            raise pairwise.fail(key, "a list of at least two values to make pairs of")
        for v, w in combinations(values, 2):
            sides = tuple((str(u), read_quantity(t, {}, {key: u})) for u in (v, w))
            yield f"/{v}-{w}", f": {v} against {w}", sides
        return
    if each is None:
        yield from _opponents(t, "", "", {})
        return
    lists = [_one_key(TomlTable({k: v}, t.file, each.place)) for k, v in each.data.items()] or [_one_key(each)]
    for picked in product(*(values for _, values in lists)):
        chosen = {key: v for (key, _), v in zip(lists, picked, strict=True)}
        own = {k: v for k, v in chosen.items() if k in ("arm", "label")}  # of a record, and no keys of its cell
        where = {k: v for k, v in chosen.items() if k not in own}
        suffix, words = "".join(f"/{v}" for v in picked), "".join(f", {k} {v}" for k, v in chosen.items())
        yield from _opponents(TomlTable({**t.data, **own}, t.file, t.place, t.seen), suffix, words, where)


def _opponents(
    t: TomlTable, suffix: str, words: str, where: dict[str, Any]
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


def _one_key(t: TomlTable) -> tuple[str, list[Any]]:
    key, values = next(iter(t.data.items()), ("", None))
    if len(t.data) != 1 or not values or not isinstance(values, list):
        raise TomlError(f"{t.file}: table [{t.place}]: expected one key with the list of its values, found {t.data!r}")
    return key, values
