"""Background work over the event log: readers, cursors, leases, texts that await a vector."""
