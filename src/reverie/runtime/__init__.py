"""What holds a memory open: `Mind` (the verbs), `Companion` (the non-blocking side), the background
thread, settling.
"""
