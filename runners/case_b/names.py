"""The names Case B plans and records with; a module of its own so that planning imports nothing heavy."""

from __future__ import annotations

DATASETS = ("diabetes", "concrete", "energy", "yacht", "california")
REGIMES = ("iid", "shift", "shiftcol", "wide")
SCALES = ("frozen", "train", "mixed")
"""Ranges of the embedding on the gap task: the training rows', each evaluated set's own, or the first for the OR head and the
second for the network's bands and the conformal ones."""
REGIONS = ("gap", "ind", "ext")
OR_ARMS = ("or1", "or1_nf", "or1_int")
EXTRA_ARMS = ("wcp", "cp_centre")
HEADS = ("clamp_all", "clamp_fit", "drop_all", "drop_fit")

SPLIT_OPTIONS = {
    "iid": {},
    "shift": {"train_end": "shift_train_end"},
    "shiftcol": {"train_end": "shift_train_end", "column": "shiftcol_column"},
    "wide": {"scouts": "wide_scouts", "ridge": "wide_ridge"},
}
"""For each regime, the arguments of make_split that matter and the settings that give them."""
