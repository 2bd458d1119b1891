"""Experience of work: what was run and edited, what broke, what fixed it, what changes together.

`activity_events` are the events of the log that tell of work, and how their payloads are read and
written. What is learned from them is worked out by `failure_signature` (which errors are the same),
`remedies` (what made an error go away), `co_change` (files that change together), `workflows`
(commands that recur) and `git_history` (a repository's history as events).

Only remedies are stored, as memories of kind `learning`: they surface, fade, are retired and
exported like any other. The rest is worked out from the log whenever somebody asks: nothing can be
out of date, and an export has all of it.
"""

TOOL, FILE, TASK, COMMIT = "tool", "file", "task", "commit"
# The verbs of the events that tell of work.
VERBS = (TOOL, FILE, TASK, COMMIT)
# The outcome of a task that has only begun.
STARTED = "started"
