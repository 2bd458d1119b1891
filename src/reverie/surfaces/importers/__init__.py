"""Readers of other programs' files. Pure: bytes in, values out."""
