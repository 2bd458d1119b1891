"""What the environment says before any settings are read: where the home is, whether that is only
tried out, whether memory is off.

The half of `config` that a hook has time for: `config` brings `pathlib`, which costs a fifth of a
hook.
"""

import errno
import os

SANDBOX_NAME = ".sandbox"  # the folder in a home that stands in for it while things are tried out
PARENT_PID = os.getppid()
"""The process that started this one, read as early as can be: a server ends with its client."""


def is_orphaned() -> bool:
    """Whether the process that started this one was gone before it could be known.

    Then it is a child of init, in a process group that is neither its own, as of a service, nor
    init's, as in a container whose first process is the client.
    """
    try:
        return os.getppid() != PARENT_PID or (
            PARENT_PID == 1 and os.getpgrp() not in (os.getpid(), os.getpgid(1))
        )
    except (OSError, AttributeError):  # a system that does not tell
        return False


def current_home() -> str:
    """The usual home, or its sandbox while `REVERIE_SANDBOX` is set."""
    return sandbox_path(usual_home())


def sandbox_path(home: str, asked: bool = False) -> str:
    """The folder to use for a home: itself, or, if that is asked for here or by `REVERIE_SANDBOX`,
    its sandbox (CC-15).

    Who is inside stays inside: the sandbox of a sandbox is itself.
    """
    wanted = asked or os.environ.get("REVERIE_SANDBOX", "") not in ("", "0")
    return (
        os.path.join(home, SANDBOX_NAME)
        if wanted and os.path.basename(home) != SANDBOX_NAME
        else home
    )


def usual_home() -> str:
    """`REVERIE_HOME`, or `~/.reverie`, as an absolute path. OSError for a user who has no home
    folder: else each working directory would get a folder named `~`, and a memory of its own.
    """
    if not has_home():
        raise OSError(
            errno.ENOENT,
            "This user has no home folder for memory to live in. Set REVERIE_HOME, or HOME",
        )
    return os.path.abspath(expand_home())


def has_home() -> bool:
    """Whether it can be told where the usual home is: not for users whom the system does not know,
    as in containers.
    """
    return not expand_home().startswith("~")


def expand_home() -> str:
    """What the environment calls the usual home."""
    return os.path.expanduser(os.environ.get("REVERIE_HOME") or "~/.reverie")


# ours first; what hosts give commands
SESSION_VARIABLES = (
    "REVERIE_SESSION",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_THREAD_ID",
)


def host_session() -> str:
    """The conversation in which a host agent runs this command; empty where none tells."""
    return next(
        (value for name in SESSION_VARIABLES if (value := os.environ.get(name, "").strip())), ""
    )


def is_switched_on() -> bool:
    """Whether `REVERIE_OFF` lets memory work."""
    return os.environ.get("REVERIE_OFF", "") in ("", "0")
