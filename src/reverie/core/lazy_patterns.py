"""Regular expressions that are compiled at their first use.

Those of `text.tokenization` alone take 8 ms together, and a hook or a cold command line, which
needs few of them, cannot wait.
"""

import re
from functools import lru_cache


@lru_cache(maxsize=1_000)
def compile_once(pattern: str) -> re.Pattern[str]:
    """The compiled expression, the same object every time."""
    return re.compile(pattern)
