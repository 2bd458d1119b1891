"""What the environment says before any settings are read: where the home is, and whether memory is off.

The half of `config` that a hook has time for: `config` brings `pathlib`, which costs a fifth of a hook.
"""

import os


def home() -> str:
    """`REVERIE_HOME`, or `~/.reverie`, as an absolute path."""
    return os.path.abspath(os.path.expanduser(os.environ.get("REVERIE_HOME") or "~/.reverie"))


def switched_on() -> bool:
    """Whether `REVERIE_OFF` lets memory work."""
    return os.environ.get("REVERIE_OFF", "") in ("", "0")
