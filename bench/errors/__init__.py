"""Whether the same error is recognised elsewhere, and different ones are kept apart, on outputs of
real tools.
"""
