"""Example tables, hypotheses and presets; the pages of the documentation use them."""
