"""How well rules take memories out of sessions: precision and recall on sessions that were labelled
by hand.
"""
