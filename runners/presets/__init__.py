"""The preset files that ship with the package: smoke, paper, open."""
