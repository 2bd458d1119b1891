"""What the environment says before any settings are read.

The home, whether that is a sandbox, whether it is encrypted, and whether memory is off.

The half of `config` that a hook has time for: `config` brings `pathlib`, which costs a fifth of a
hook.
"""

import errno
import os

ENCRYPTION_FILE = "encryption.json"  # in a home that is encrypted at rest
ENCRYPTION_COPY = "encryption-copy.json"  # stands in for it while it is damaged or lost
SANDBOX_NAME = ".sandbox"  # the folder in a home that stands in for it while things are tried out
# The process that started this one, read as early as can be: a server ends with its client.
PARENT_PID = os.getppid()
# What hosts give to commands, ours first.
SESSION_VARIABLES = ("REVERIE_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")
# Where a collector of OpenTelemetry listens by default, and the path at which it takes spans.
STANDARD_COLLECTOR = "http://localhost:4318"
SPAN_PATH = "/v1/traces"


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


def is_encrypted(home: str | os.PathLike[str]) -> bool:
    """True if a home is encrypted at rest."""
    return any(
        os.path.exists(os.path.join(home, name)) for name in (ENCRYPTION_FILE, ENCRYPTION_COPY)
    )


def runtime_folder() -> str:
    """The folder of this login that the system empties when it ends; "" where there is none."""
    return os.environ.get("XDG_RUNTIME_DIR", "")


def home_passphrase() -> str:
    """The passphrase of an encrypted home, for services that nobody can ask; "" if not given."""
    return os.environ.get("REVERIE_PASSPHRASE", "")


def has_variable(name: str) -> bool:
    """True if the environment has something under this name."""
    return bool(os.environ.get(name))


def is_dumb_terminal() -> bool:
    """True if the terminal can do nothing but print lines."""
    return os.environ.get("TERM", "") in ("", "dumb")


def is_switched_on() -> bool:
    """False while `REVERIE_OFF` switches memory off."""
    return os.environ.get("REVERIE_OFF", "") in ("", "0")


def find_span_address(setting: str) -> str:
    """Where spans are sent, by the setting `otel` or OpenTelemetry's variables; empty: nowhere."""
    if (
        setting == "off"
        or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
        or os.environ.get("OTEL_TRACES_EXPORTER", "") == "none"
    ):
        return ""
    if setting not in ("", "on"):
        return with_span_path(setting)
    if address := os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        return address  # of this signal alone, and taken as it is
    address = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or (setting and STANDARD_COLLECTOR)
    return with_span_path(address) if address else ""


def with_span_path(address: str) -> str:
    """The address of a collector with the path at which it takes spans."""
    plain = address.rstrip("/")
    return plain if plain.endswith(SPAN_PATH) else plain + SPAN_PATH


def captures_span_content() -> bool:
    """True if the environment asks for contents in spans (GenAI convention)."""
    asked = os.environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").lower()
    return asked in ("true", "1", "span_only", "span_and_event")
