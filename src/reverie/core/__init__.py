"""The nouns that every room speaks of (Memory, Event, Edge, Space, Hit, Change), the table of
kinds, the clock, errors and settings.
"""
