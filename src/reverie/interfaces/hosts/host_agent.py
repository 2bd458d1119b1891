"""What a host agent is to us, and how the parts of its messages are read.

Each host is one module beside this one; hooks import only that of the host that started them, so
nothing here imports more than a hook can afford.
"""

from collections.abc import Callable, Iterator, Mapping
from json import dumps, loads
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.interfaces.hooks.hook_event import HookEvent, first_text

if TYPE_CHECKING:
    from pathlib import Path

# Of a block in an answer; Claude Code cuts at 10,000.
MAX_ANSWER_CHARS = 9_500
# What these answer is a file's content, which is not kept.
FILE_TOOLS = ("read", "edit", "write", "multiedit", "notebookedit")

# Where a host can stop a tool but cannot ask about it.
CANNOT_ASK = (
    ". It was not run: this host cannot ask. Ask the user; who wants it once runs "
    "`reverie guards allow`, or runs the command themselves"
)

ReadSettings = Callable[["Path"], Mapping[str, Any]]  # {} where there is no such file


def no_switches(_read: ReadSettings, _project: "Path") -> Iterator[tuple["Path", str]]:
    """For hosts whose hooks cannot be switched off as a whole."""
    return iter(())


def no_past_files() -> Iterator["Path"]:
    """For hosts of whose past sessions nothing lies on the disk."""
    return iter(())


def no_commands(_project: "Path | None") -> "Path | None":
    """For hosts whose commands are texts for the model alone."""
    return None


def show_nothing(_event: str, _line: str) -> dict[str, Any]:
    """For hosts that show a person nothing of what hooks say."""
    return {}


def decide_nothing(_event: str, _decision: str, _reason: str) -> dict[str, Any]:
    """For hosts that let no hook decide whether a tool runs."""
    return {}


class HostAgent(NamedTuple):
    """A host agent: how its hooks talk, and where its settings are.

    A message is a JSON object. What this table does not say of it, `read` knows.
    """

    title: str  # its name for people
    next_step: str  # what to do after `reverie install`
    events: Mapping[str, str]  # its names of what happens, and ours
    read: Callable[[Mapping[str, Any]], HookEvent | None]
    # (its name of the event, what to say) -> the shape that it reads
    answer: Callable[[str, str], dict[str, Any]]
    # a project's folder, or None for the user's own -> (file with hooks, file with MCP servers)
    settings_files: Callable[["Path | None"], tuple["Path", "Path"]]
    # (reads a settings file, a project's folder) -> (file, setting) that keeps hooks from running
    find_switches: Callable[[ReadSettings, "Path"], Iterator[tuple["Path", str]]] = no_switches
    flat_hooks: bool = False  # a list of commands for each event, not groups of handlers
    has_plugin: bool = False  # it takes ours, of `plugins/`
    runs_equal_once: bool = False  # equal handlers that stand in several files run once
    event_field: str = "hook_event_name"  # of a message: which of `events` it tells of
    # its events at which whatever a hook prints is put into the context as it is
    text_events: tuple[str, ...] = ()
    # Texts that `read` needs of a prompt too long to be parsed: whose it is, where, what it says.
    prompt_fields: tuple[str, ...] = ("session_id", "cwd", "prompt")
    # (its name of the event before a tool, "ask" or "deny", why) -> what keeps it from running
    decide: Callable[[str, str, str], dict[str, Any]] = decide_nothing
    can_ask: bool = True  # the person, before a tool; else what should be asked is denied
    # (its name of the event, a line) -> what shows it to the person and not to the agent
    show: Callable[[str, str], dict[str, Any]] = show_nothing
    # a project's folder, or None for the user's own -> where files of our commands lie; None: the
    # host takes none that run a program
    commands_folder: Callable[["Path | None"], "Path | None"] = no_commands
    # where the host itself keeps its sessions, in formats of `porting.past_sessions`
    past_files: Callable[[], Iterator["Path"]] = no_past_files


def merge_answers(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Two answers as one."""
    merged = {**one, **other}
    for name in one.keys() & other.keys():
        if isinstance(one[name], Mapping) and isinstance(other[name], Mapping):
            merged[name] = {**one[name], **other[name]}
    return merged


def read_host_event(host: HostAgent, payload: Any) -> HookEvent | None:
    """What a host tells of; None for what does not concern us."""
    if not isinstance(payload, Mapping) or payload.get(host.event_field) not in host.events:
        return None
    event = host.read(payload)
    return event if event and event.session else None


def has_failed_exit(response: Any) -> bool:
    """True if a response says that the command ended with a code other than 0, as those of Codex
    and Cursor do.
    """
    response = parse_response(response)
    if not isinstance(response, Mapping):
        return False
    about = response.get("metadata")
    told = about if isinstance(about, Mapping) else response
    code = told.get("exit_code", told.get("exitCode"))
    return isinstance(code, int) and code != 0


def parse_response(response: Any) -> Any:
    """A response; what a text of it holds, if that is a JSON object."""
    if isinstance(response, str) and response.startswith("{"):
        try:
            return loads(response)
        except ValueError:
            pass
    return response


def extract_result_text(response: Any) -> str:
    """The text of a tool's result: what it printed where that is separate, else all of it."""
    if response is None or isinstance(response, str):
        return response or ""
    if isinstance(response, Mapping):
        names = ("stdout", "stderr")
        if any(isinstance(response.get(name), str) for name in names):
            return "\n".join(filter(None, (first_text(response, name) for name in names)))
        if isinstance(response.get("content"), str):
            # What a search found: its lines say of which file they are.
            return first_text(response, "content")
    if isinstance(response, list) and response and all(map(is_text_part, response)):
        return "\n".join(first_text(part, "text") for part in response)
    return dumps(response, ensure_ascii=False)


def is_text_part(part: Any) -> bool:
    """True for `{"text": …}`, of which MCP tools answer a list."""
    return isinstance(part, Mapping) and isinstance(part.get("text"), str)


def to_seconds(value: Any) -> float | None:
    """Milliseconds as seconds."""
    # JSON's true is a bool, which Python takes for a number.
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value / 1_000 if is_number else None


def to_share(value: Any) -> float | None:
    """A percentage as a share of 0..1."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 100
    return value / 100 if known else None
