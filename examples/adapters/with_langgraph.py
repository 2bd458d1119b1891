"""Reverie as the store of a LangGraph agent: items by namespace and key, found by words and
meaning.

    pip install 'reverie[langgraph]' && python examples/adapters/with_langgraph.py

Give the store to `builder.compile(store=...)`, or to whatever takes a `BaseStore`, such as
LangMem's tools.
"""

import tempfile
from pathlib import Path

from reverie.interfaces.frameworks.langgraph import MemoryStore
from reverie.testing import memory

NAMESPACE = ("users", "ann")


def main(folder: Path) -> list[str]:
    """The keys that a search finds, best first, and what is there after a deletion was
    taken back.
    """
    with memory(folder) as mind:
        store = MemoryStore(mind, "me/shop")
        store.put(NAMESPACE, "units", {"text": "Prices are always kept in cents.", "sure": 0.9})
        store.put(
            NAMESPACE, "colour", {"text": "Labels have the colour of the season.", "sure": 0.5}
        )
        best = store.search(
            ("users",), query="in which unit are prices kept?", filter={"sure": {"$gt": 0.4}}
        )
        store.delete(NAMESPACE, "units")
        gone = store.get(NAMESPACE, "units")
        mind.undo(mind.store.events(verbs=("forget",), newest=True)[0].seq)
        back = store.get(NAMESPACE, "units")
        return [*(item.key for item in best), str(gone), back.value["text"] if back else ""]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(main(Path(place)))
