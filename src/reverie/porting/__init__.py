"""Memories in and out: export, import from other programs, lines of JSON that a team shares."""
