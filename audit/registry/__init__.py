"""Hypotheses as data: the language of the files, reading them, and registering them."""
