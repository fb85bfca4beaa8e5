"""The presets of the paper's cases."""
