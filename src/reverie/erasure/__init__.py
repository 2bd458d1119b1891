"""Purge and scrub: what is erased is gone from the database and from every file beside it."""
