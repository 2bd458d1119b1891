"""What the environment says before any settings are read: where the home is, and whether memory is off.

The half of `config` that a hook has time for: `config` brings `pathlib`, which costs a fifth of a hook.
"""

import os

PARENT = os.getppid()
"""The process that started this one, read as early as can be: a server ends with its client."""


def orphaned() -> bool:
    """Whether the process that started this one was gone before it could be known.

    Then it is a child of init, in a process group that is neither its own, as of a service, nor init's, as in a
    container whose first process is the client.
    """
    try:
        return os.getppid() != PARENT or (PARENT == 1 and os.getpgrp() not in (os.getpid(), os.getpgid(1)))
    except (OSError, AttributeError):     # a system that does not tell
        return False


def home() -> str:
    """`REVERIE_HOME`, or `~/.reverie`, as an absolute path."""
    return os.path.abspath(os.path.expanduser(os.environ.get("REVERIE_HOME") or "~/.reverie"))


def switched_on() -> bool:
    """Whether `REVERIE_OFF` lets memory work."""
    return os.environ.get("REVERIE_OFF", "") in ("", "0")
