"""What the environment says before any settings are read.

The home, whether that is a sandbox, and whether memory is off.

The half of `config` that a hook has time for: `config` brings `pathlib`, which costs a fifth of a
hook.
"""

import errno
import os

SANDBOX_NAME = ".sandbox"  # the folder in a home that stands in for it while things are tried out
# The process that started this one, read as early as can be: a server ends with its client.
PARENT_PID = os.getppid()
# What hosts give to commands, ours first.
SESSION_VARIABLES = ("REVERIE_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")


def is_orphaned() -> bool:
    """True if the process that started this one is gone."""
    try:
        if os.getppid() != PARENT_PID:
            return True
        # Gone before we could read it: then we are a child of init, in a process group that is
        # neither our own, as a service's is, nor init's, as in a container whose first process is
        # the client.
        return PARENT_PID == 1 and os.getpgrp() not in (os.getpid(), os.getpgid(1))
    except (OSError, AttributeError):  # a system that does not tell
        return False


def current_home() -> str:
    """The usual home, or its sandbox while `REVERIE_SANDBOX` is set."""
    return sandbox_path(usual_home())


def sandbox_path(home: str, asked: bool = False) -> str:
    """The folder to use for a home: itself, or its sandbox.

    The sandbox is `asked` for here or by `REVERIE_SANDBOX`. The sandbox of a sandbox is itself: who
    is inside stays inside.
    """
    wanted = asked or os.environ.get("REVERIE_SANDBOX", "") not in ("", "0")
    return (
        os.path.join(home, SANDBOX_NAME)
        if wanted and os.path.basename(home) != SANDBOX_NAME
        else home
    )


def usual_home() -> str:
    """`REVERIE_HOME`, or `~/.reverie`, as an absolute path.

    OSError for a user without a home folder: else each working directory would get a folder named
    `~`, and a memory of its own.
    """
    if not has_home():
        raise OSError(
            errno.ENOENT,
            "This user has no home folder for memory to live in. Set REVERIE_HOME, or HOME",
        )
    return os.path.abspath(expand_home())


def has_home() -> bool:
    """True if there is a folder for memory to live in.

    False where the system does not know the user's home folder, as in containers, and
    `REVERIE_HOME` is not set.
    """
    return not expand_home().startswith("~")


def expand_home() -> str:
    """The usual home as the environment names it; with a leading `~` where that is unknown."""
    return os.path.expanduser(os.environ.get("REVERIE_HOME") or "~/.reverie")


def host_session() -> str:
    """The conversation in which a host agent runs this command; "" where none says so."""
    ids = (os.environ.get(name, "").strip() for name in SESSION_VARIABLES)
    return next(filter(None, ids), "")


def quiet_child_environment() -> dict[str, str]:
    """The environment for an agent that is started to answer one question.

    Memory is off in it, so that Reverie does not record itself; nothing says that it runs within
    another agent, which some refuse to.
    """
    left_out = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", *SESSION_VARIABLES)
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**kept, "REVERIE_OFF": "1"}


def has_variable(name: str) -> bool:
    """True if the environment has something under this name."""
    return bool(os.environ.get(name))


def is_dumb_terminal() -> bool:
    """True if the terminal can do nothing but print lines."""
    return os.environ.get("TERM", "") in ("", "dumb")


def is_switched_on() -> bool:
    """False while `REVERIE_OFF` switches memory off."""
    return os.environ.get("REVERIE_OFF", "") in ("", "0")
