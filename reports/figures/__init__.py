"""Figures: one style, and the function that draws them."""
