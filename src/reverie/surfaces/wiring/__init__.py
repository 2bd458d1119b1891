"""Wiring Reverie into host agents: their settings files name our hooks and our MCP server.

`entries` alters the text of a settings file (pure), `targets` knows which files a host has, `ledger` writes them, keeps
what was there before and brings it back, `doctor` looks whether all is well.

Always true: entries of others stay as they are, in order; wiring twice changes nothing; a file that was not touched
since it was wired comes back byte by byte, and one that did not exist is gone again.
"""
