"""A study of its own: how far three estimates of a location are from the truth."""

from orledger.study import Case, Study

STUDY = Study(
    name="location",
    title="Three estimates of a location",
    citation="A worked example that comes with orledger",
    cases=(Case("location", "location_study", "Estimates of a location"),),
    presets="location_study/presets",
    hypotheses="location_study/hypotheses",
    views="location_study/views",
    tables=("location_study.tables",),
    figures=("location_study.figures",),
    labels={"mean": "mean", "median": "median", "trimmed": "trimmed mean"},
)
