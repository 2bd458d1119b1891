"""Whether memories come up at the tool calls where they belong, and nowhere else."""
