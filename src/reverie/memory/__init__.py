"""What becomes of memories: how they come in, are altered, used, explained and let go. Pure
functions over values.
"""
