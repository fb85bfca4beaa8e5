"""Case D, an example: how far three estimates of a location are from the truth."""
