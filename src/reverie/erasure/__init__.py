"""Purge and scrub: what is erased is gone everywhere.

A purge erases memories, and what repeats them; a scrub erases secrets, and nothing else. Both begin
with what people wrote on pages and in shared files by now (`own_files.take_in_edits`): it is taken
in, or it would come back after the store was gone through. Then a purge (`purge.purge_everywhere`):

1. The store: memories, log, vectors. The same transaction notes which memories went (PURGING).
2. Files, all in `purge.purge_from_files`: pages and shared files lose its lines, and pages are
   written anew; what hooks have laid ready, logs, and all other files of ours
   (`own_files.scrub_files`); the index of notes, in which the mirror's pages are read again;
   the index of past conversations; versions of pages; texts of past tasks, in the index of chunks
   of code; backups; the files of this home's own log for other machines.
3. The note goes, and the database is written anew, so that no byte stays. What somebody is reading
   just then is noted (REWRITE_PENDING).

A scrub (`scrub.scrub_everywhere`), noted in the home before anything is erased (`intention`):

1. The store, some rows at a time: each transaction that changes something notes REWRITE_PENDING.
2. The indexes of notes, of code and of past conversations (`scrub.scan_indexes`, `clean_indexes`):
   what holds something is dropped, and read again from its file or from the log. Before the files,
   for pages and shared files are brought in step with the store after it.
3. All files of ours (`own_files.scrub_files`).
4. The database is written anew, and the note goes, or stays if something could not be.
5. Copies, backups and versions, are only named unless they are asked for. The note in the home
   goes.

What either leaves to be done, or is killed in, whoever opens the home next finishes, and the worker
(`unfinished.finish_erasure`). A
place that is added to the home belongs into all three; the index of code is no purge's, for it
holds files of the user's and no memory. Below `cache` only the indexes hold anybody's words.

What is the user's own (files that are searched, settings) is named and never altered. How text is
matched is in `storage.erased_texts` and `privacy.scrub_rules`, how rows are erased in `storage`.
"""
