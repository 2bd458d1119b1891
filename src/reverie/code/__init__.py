"""The code map: what a repository defines, where it is used, and what of it matters just now.

`languages` is the table of languages, one query file each; `parse` turns bytes into facts;
`resolve` says what every name means, across files; `index` keeps both up to date on disk; `ask`
answers questions from it; `map` is the ranked overview. Facts and edges are derived: the index can
be deleted at any time.
"""
