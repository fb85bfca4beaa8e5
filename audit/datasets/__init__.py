"""The gate before training: is a table a regression problem at all."""
