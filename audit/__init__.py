"""The audit: exact statistics, floors, pairing, the registry of hypotheses, and dispositions."""
