"""Files that the pages load: style, script, and the chart library with its licence."""
