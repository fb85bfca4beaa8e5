"""Reports: tables, figures, the audit report, and the comparison of two databases."""
