"""Planted instructions: how many get authority in memory, and how many honest wishes are lost."""
