"""Runners: presets become plans, plans become cells, cells become records."""
