"""Prohibitions as people word them, and the calls of tools that they forbid."""
