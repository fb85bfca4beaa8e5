"""The paper as a study: hypotheses, printed numbers, tables, figures, names and known reasons for differences."""
