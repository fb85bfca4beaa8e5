"""The database: numbered migrations, wide views, and the one place that opens DuckDB."""
