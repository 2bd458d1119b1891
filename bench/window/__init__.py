"""What stays in a full context window, and what comes back: conversations, measures, a comparison
of strategies.
"""
