"""Files of the user's own that memory can search: which there are, how they are cut up, indexed.

`folder_walk` says which files of a folder count, `text_chunks` cuts a text, `note_indexing`
compares what is there with what is indexed and makes the index so, `watched_roots` says which
folders somebody may see, `file_versions` keeps what a file was before it was written.

Always true: nothing outside a watched folder is read or written, and nothing that its ignore files
name; no symbolic link is followed below it; secrets are taken out before a chunk is kept. The index
is derived: delete it at any time and only time is lost. Which folders are watched, and what files
were before, is canonical: the event log says it.
"""
