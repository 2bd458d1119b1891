"""The commands, by room: `keep` and `letgo` write, `find` reads, `practice` knows how, `trust`
looks after the store.

`switch` turns memory on and off, `play` shows it at work.
"""
