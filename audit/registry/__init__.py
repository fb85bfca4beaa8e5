"""Hypothesis files of the paper."""
