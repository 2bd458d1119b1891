"""The nouns that every room speaks of, the table of kinds, the clock, errors and settings."""
