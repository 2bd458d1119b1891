"""What has faded goes to the archive (B115, B125): retired as "faded", listed, and brought back by `restore`.

Fading alone never deletes. A memory goes only if all of it is so: hardly anything is left of it, it was said once, it
was of no use for a month, and it is not the user's own word (CONSTANTS row 16; CC-50 to CC-53).
"""

from reverie.kinds import DAY, effective
from reverie.lifecycle.sleep.plan import Step, View
from reverie.model import Memory, Retire

FLOOR = 0.05          # effective confidence below which nothing much is left
UNUSED = 30 * DAY     # without use or mention
THEIRS = ("user_stated", "user_corrected")


def faded(memory: Memory, now: float) -> bool:
    """Whether it may go to the archive."""
    last = max(memory.at, memory.created_at, memory.last_accessed_at or 0.0)
    return (effective(memory, now) < FLOOR and memory.strength <= 1 and now - last >= UNUSED
            and memory.provenance not in THEIRS)


def prune(view: View) -> list[Step]:
    """Retire what has faded."""
    return [Step((Retire(memory.id, view.now, why="faded"),), (memory.id,),
                 f"{effective(memory, view.now):.1%} left of it")
            for memory in view.memories.values() if memory.active and faded(memory, view.now)]
