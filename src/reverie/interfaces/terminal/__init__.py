"""Screens on a terminal: find, review. A few lines below the prompt, redrawn at each key.

Own code on the standard library: what draws a line and reads a key is small, and the libraries for
it cost more time to import than a first answer may take (docs/dependencies.md).
"""
