"""The code map: what a repository defines, where it is used, and what of it matters just now.

`languages` is the table of languages, with one query file each. `file_parser` turns bytes into
facts, `reference_resolution` says what every name means across files, and `code_indexing` keeps
both up to date on disk. `code_queries` answers questions from the index, `repository_map` ranks it.
Facts and edges are derived: the index can be deleted at any time.
"""
