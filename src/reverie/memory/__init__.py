"""The life of memories: validated, changed, used, explained and retired. Pure
functions over values.
"""
