"""How good is what comes back? Data, measures, training of the ranker, evaluation against
baselines.
"""
