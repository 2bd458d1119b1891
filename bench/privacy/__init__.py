"""How much `reverie.privacy` catches and spares, and how long it takes: `python -m
bench.privacy`.
"""
