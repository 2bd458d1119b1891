"""From conversations to memories: rules, an optional model, past sessions, questions that found no
answer.
"""
