"""Jinja2 templates for LaTeX and HTML."""
