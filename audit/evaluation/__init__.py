"""From registered comparisons and claims to verdicts: pairing, tests, dispositions, and the rows that hold them."""
