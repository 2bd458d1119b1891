"""Wiring Reverie into host agents: their settings files name our hooks and our MCP server.

    hook_line          the line that a host runs, and how ours is told from others': to the letter
    json_edit          a JSON text changed in place, with the cut that takes each change back
    toml_edit          the same for our marked block in a TOML text
    settings_entries   our entries in such a text, put in and taken out (pure)
    command_files      the commands that a person types in a host: /reverie:off, /reverie:on
    settings_targets   which files of a host get which entries
    settings_writer    writes them, and brings the files back as they were
    settings_findings  what hosts' files say, read and judged, never run
    installations      which Reverie a shell and each host start
    silent_hooks       hosts that are wired and run no hook
    trial_run          our own hook and MCP server, tried in a home made for it
    doctor             whether all is well, in words

Which hosts there are, and where each keeps its settings: `interfaces.hosts`.

Always true: what others wrote stays, every byte of it; wiring twice changes nothing; a file that
was not touched since it was wired comes back as it was, and one that did not exist is gone again;
of one that was touched only our entries are taken out. No text of others is copied, and no command
that stands in a settings file is ever run by us.
"""
