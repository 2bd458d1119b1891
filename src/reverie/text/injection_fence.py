"""The tags around injected context, and removing what stands between them."""

import re

FENCE = "reverie-memory"
FENCE_END = f"</{FENCE}>"

# A long message may have been cut inside the fence.
_INJECTED = re.compile(rf"<{FENCE}>.*?(?:</{FENCE}>|\Z)", re.DOTALL)


def remove_injections(text: str) -> str:
    """The text without injected context: memory must not learn from its own echo."""
    return _INJECTED.sub(" ", text) if FENCE in text else text
