"""Background work over the event log: readers with cursors, leases, texts that wait for a vector."""
