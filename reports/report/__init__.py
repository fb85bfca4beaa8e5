"""The audit report, findings and the comparison of two databases."""
