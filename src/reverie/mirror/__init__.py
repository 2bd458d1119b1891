"""The Markdown mirror: memories as files that a person can read, change, and see obeyed.

Each space has a folder with `MEMORY.md`, grouped by `kinds.GROUPS`, and `memory/YYYY-MM-DD.md`,
what happened on a day (UTC). Truth is the store; a page is what it looked like when it was last
written, plus whatever a person did to it. Everything that decides is pure and speaks of `PageLine`:
`page_placement` says where a memory stands, `page_blocks` reads a page, `three_way_merge` compares
what was last written, the page as it stands and the store, `page_rendering` writes the page anew.
`mirror_folder` reads and writes files; `mirror_sync` runs it.

Always true: no page is written that does not carry our first line; whatever is not a line with a
memory's id, or a new one under a heading of ours, is prose and stays where it stood, byte for byte;
no text of a memory can end its line, open a heading, or pass for an id. We would notice by
`verify`, which compares pages with the store.
"""
