"""A recall through a tool or the command line counts as a use of what it answered first.

The first COUNTED alone: whoever asks reads an answer from the top, and what was looked for stands
there in nearly as many answers as among all ten (`bench.gate.again` says how often). The rest came
along because the list is long, and to count it would keep alive whatever resembles much. Looking at
the newest, or at how things stood, is no use of anything. `Mind.recall` itself only reads.
"""

from collections.abc import Sequence

from reverie import Mind
from reverie.core.model import Hit

COUNTED = 3


def count_recall(mind: Mind, query: str, hits: Sequence[Hit], space: str) -> None:
    """Count a use of what a question was answered with first."""
    first = [hit.memory.id for hit in hits[:COUNTED]]
    if query.strip() and first:
        # It counts each memory that it returns, and does without where nothing can be written.
        mind.retrieve(first, space=space)
