"""What is derived of a memory: the text that the word index holds, and the nodes of its tags."""

from reverie.core.model import Memory
from reverie.text.tokenization import to_index_text

INDEXED_FIELDS = {"text", "title", "tags", "files"}  # fields that the word index covers
# Fields that columns in memory are arranged by.
COLUMN_FIELDS = {"space", "session", "speaker", "kind", "at"}


def to_words_body(memory: Memory) -> str:
    """The text that the word index holds of a memory: title, text, tags and files."""
    tags, files = " ".join(memory.tags), " ".join(memory.files)
    parts = (memory.title, memory.text, tags, files)
    return to_index_text("\n".join(filter(None, parts)))


def tag_node(tag: str) -> str:
    """The name of a tag's node in the graph."""
    return f"tag:{tag}"
