"""Objects of the package with only the fields that a test needs."""


def part_of(kind, **fields):
    """An object of the frozen dataclass `kind` that has nothing but `fields`."""
    made = object.__new__(kind)
    made.__dict__.update(fields)
    return made
