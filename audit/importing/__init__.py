"""Results made elsewhere, brought into the database."""
