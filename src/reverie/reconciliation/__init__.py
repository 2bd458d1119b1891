"""Duplicates and contradictions: finding relatives of a new memory, comparing, deciding, asking a
person or a model.
"""
