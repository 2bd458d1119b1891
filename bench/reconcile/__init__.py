"""Telling what two memories are to each other: labelled pairs, restatements, and how well it is
done.
"""
