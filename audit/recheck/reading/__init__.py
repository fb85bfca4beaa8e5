"""Papers as data: sentences with their numbers, tables with typed cells, each with file and line."""
