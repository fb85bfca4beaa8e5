"""The hypotheses of the paper, one TOML file each."""
