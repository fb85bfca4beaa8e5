"""Exact statistics: tests, intervals, floors and what a design can show at all."""
