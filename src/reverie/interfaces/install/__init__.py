"""Wiring Reverie into host agents: their settings files name our hooks and our MCP server.

    command    the line that a host runs, and how ours is told from others': to the letter
    splice     a JSON text altered in place, with the cut that takes each change back
    entries    our entries in such a text, put in and taken out (pure)
    targets    which files a host has
    ledger     writes them, and brings them back as they were
    found      what hosts' files say, read and judged, never run
    trial      our own hook and MCP server, tried in a home made for it
    doctor     whether all is well, in words

Always true: what others wrote stays, every byte of it; wiring twice changes nothing; a file that
was not touched since it was wired comes back as it was, and one that did not exist is gone again;
of one that was touched only our entries are taken out. No text of others is copied, and no command
that stands in a settings file is ever run by us.
"""
