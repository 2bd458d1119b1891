"""From conversations to memories: rules, an optional model, past sessions, unanswered questions."""
