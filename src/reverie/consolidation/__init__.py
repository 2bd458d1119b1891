"""Sleep: passes that merge, archive, group and link memories, runs of them, and their undo."""
