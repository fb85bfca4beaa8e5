"""Printed numbers recomputed from one another."""
