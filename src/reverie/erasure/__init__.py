"""Purge and scrub: what is erased is gone everywhere.

A purge erases memories, and what repeats them; a scrub erases secrets, and nothing else. Both go
through the same places, and a place that is added to the home belongs into both:

1. What people wrote on pages and in shared files by now is taken in (`own_files.take_in_edits`), or
   it would come back after the store was gone through.
2. The store: memories, log, vectors. The same transaction notes that files are still to be done, so
   that whoever is killed leaves that to the worker (`unfinished`).
3. What people and programs read: pages, shared files, what hooks have laid ready, logs
   (`own_files.scrub_files`).
4. What is derived: the indexes of notes and of code, texts of past tasks, caches. A scrub does this
   before the files, for it drops rows that are read anew; a purge after them, for it reads the
   mirror's pages again at once.
5. Copies: versions of pages, backups. A scrub only names them unless it is told to clean them.
6. The database is written anew, so that no byte stays, and the note goes.

What is the user's own (files that are searched, settings) is named and never altered. How text is
matched is in `storage.erased_texts` and `privacy.scrub_rules`, how rows are erased in `storage`.
"""
