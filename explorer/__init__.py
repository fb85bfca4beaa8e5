"""The explorer: pages of ``orledger serve``, rendered on the server from a private copy of the database."""
