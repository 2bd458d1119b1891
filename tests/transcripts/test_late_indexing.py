"""The index follows the log whatever happens meanwhile: erasure by another process, other settings."""

import pytest

from reverie.testing import Clock, make_conversation, memory
from reverie.transcripts import transcript_indexing
from reverie.transcripts.transcript_indexing import index_conversations

SPACE = "me/demo"


@pytest.mark.parametrize("erase", ["scrub", "purge"])
def test_who_indexes_late_does_not_bring_back_what_was_erased(tmp_path, monkeypatch, erase):
    """One process has read the log, another erases meanwhile, then the first writes."""
    said = "The account number of Mispelbaum is four seven eleven and lies in the vault."
    with memory(tmp_path) as mind, memory(tmp_path) as other:
        kept = mind.remember(said, space=SPACE)
        mind.learn(make_conversation(said, "Please keep that in mind."), space=SPACE, session="s1")
        real = transcript_indexing.read_conversations

        def erase_meanwhile(work, events):
            found = real(work, events)
            monkeypatch.setattr(transcript_indexing, "read_conversations", real)
            if erase == "scrub":
                other.data.scrub("The account number of Mispelbaum", write=True, copies=True)
            else:
                other.data.purge([kept.id])
            return found

        monkeypatch.setattr(transcript_indexing, "read_conversations", erase_meanwhile)
        index_conversations(mind.work)
        while index_conversations(mind.work):
            pass
        texts = [text for _, _, text in mind.store.transcripts.texts()]
        assert not [text for text in texts if "Mispelbaum" in text]
    assert not [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and b"mispelbaum" in path.read_bytes().lower()
    ]


def test_more_days_bring_back_older_talk(tmp_path):
    """The log is read again when the setting changes; it holds what the index has let go."""
    clock = Clock()
    with memory(tmp_path, now=clock, talk_days=30) as mind:
        said = "We keep the invoices in the bucket of the Frankfurt region."
        mind.learn(make_conversation(said, "Fine, Frankfurt it is."), space=SPACE, session="old")
        mind.settle()
        assert mind.store.transcripts.count([SPACE]).passages
        clock.tick(days=60)
        mind.learn(make_conversation("Which linter is used here?"), space=SPACE, session="new")
        mind.settle()
        assert not mind.recall("bucket for invoices", space=SPACE, kinds=["said"])
    with memory(tmp_path, now=clock) as mind:
        mind.settle()
        assert mind.recall("bucket for invoices", space=SPACE, kinds=["said"])
