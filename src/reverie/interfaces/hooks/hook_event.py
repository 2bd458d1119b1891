"""What hooks and the worker tell each other: what happened in a host, whichever host it is, and
the records that they leave for each other in files (`spool` says where).

Each record is written as one JSON object with the names of its fields. Whoever reads one leaves
out what it does not know and takes the default for what is missing, so that a hook and a worker of
different versions understand each other.
"""

# Not `from __future__ import annotations`: a NamedTuple would compile each of them once more, which
# took a hook about 0.5 ms.
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reverie import __version__
from reverie.core.privacy_policy import DEFAULT_POLICY, RULES_FINGERPRINT, Choice, Policy

SESSION_START, PROMPT, TURN_END, SESSION_END = "session_start", "prompt", "turn_end", "session_end"
TOOL_BEFORE, TOOL_AFTER, TOOL_FAILED = "tool_before", "tool_after", "tool_failed"
TOOL_KINDS = (TOOL_BEFORE, TOOL_AFTER, TOOL_FAILED)
COMPACT_BEFORE, COMPACT_AFTER = "compact_before", "compact_after"
SUBAGENT_START = "subagent_start"


class HookEvent(NamedTuple):
    """One moment of a conversation, as a hook is told of it."""

    kind: str  # one of those above
    session: str
    cwd: str = ""
    text: str = ""  # what the user or the agent said, or a tool's error
    tool: str = ""
    given: Any = None  # what the tool is given
    result: str = ""  # what it answered
    doubtful: bool = False  # the host does not say whether the tool failed
    seconds: float | None = None  # how long it took
    source: str = ""  # how a session began ("startup", "resume", "clear", "compact")
    transcript: str = ""  # the host's file of this conversation
    call: str = ""  # the host's name of this run of a tool
    agent: str = ""  # the subagent that it happens to; empty: the conversation's own agent
    full: float | None = None  # share of the context that is used, where the host says so
    model: str = ""  # which one speaks, if the host says so


class SessionNote(NamedTuple):
    """What holds for a session until the settings change: written by its first hook."""

    space: str = ""
    root: str = ""  # its work tree
    off: bool = False  # memory is off there
    idle: float = 0.0  # seconds that a worker stays; 0: none is started
    personal: Choice = DEFAULT_POLICY.personal
    contact: Choice = DEFAULT_POLICY.contact
    intimate: Choice = DEFAULT_POLICY.intimate
    sensitive: Sequence[str] = ()
    config: int = -1  # when the settings that this follows were altered, in nanoseconds
    asked: float = 0.0  # when the newest prompt came; 0: none did
    topic: float = 0.0  # when the newest prompt came that said what it is about
    agent: str = ""  # the host's name
    transcript: str = ""
    model: str = ""
    held_out: bool = False  # memory says nothing there by itself, warnings and reminders apart
    notices: bool = True  # the person is told in a line what memory did

    @property
    def policy(self) -> Policy:
        """What is taken out of a text before it is kept."""
        return Policy(self.personal, self.contact, tuple(self.sensitive), intimate=self.intimate)


class HookBlock(NamedTuple):
    """What a hook is to say, prepared by the worker or found by the hook itself."""

    text: str = ""
    ids: Sequence[str] = ()
    due: Sequence[str] = ()  # those of `ids` that are reminders
    until: float = 0.0  # when it is too old to be said
    about: Sequence[str] = ()  # topic words that it was prepared for
    asked: float = 0.0  # when the prompt came that it was prepared for; 0: not known
    why: Sequence[Sequence[str]] = ()  # reasons for each of `ids`; empty: by an earlier version
    withheld: Sequence[str] = ()  # what a session that is held out is not told


NO_BLOCK = HookBlock()


class ToolStop(NamedTuple):
    """What keeps a tool from running: the host's decision, what a person reads, whose it is."""

    decision: str  # "ask" or "deny"
    reason: str
    ids: Sequence[str]
    why: Sequence[str]  # what called up each of `ids`

    def join(self, block: HookBlock) -> HookBlock:
        """What was said, with this as further reasons of it."""
        why = dict(zip(self.ids, self.why, strict=True))
        said = zip(block.ids, block.why, strict=True)
        reasons = [(why.pop(id), *one) if id in why else one for id, one in said]
        rest = [(one,) for one in why.values()]
        return block._replace(ids=[*block.ids, *why], why=[*reasons, *rest])


class ToolWarning(NamedTuple):
    """A memory as a hook needs it to tell whether a tool calls it up."""

    id: str
    line: str  # how it is shown
    triggers: Sequence[str] = ()
    files: Sequence[str] = ()
    reminder: bool = False
    when: float | None = None  # a reminder comes due, if it has a time
    writes: Sequence[str] = ()  # patterns of files; one that is changed calls it up
    error: bool = False  # it tells of an error: a tool that fails so calls it up
    decision: str = ""  # "ask" or "deny" if a tool that does what it forbids is stopped
    reason: str = ""  # what a person reads then


class WarningTable(NamedTuple):
    """What to say before a tool runs in a space; `guards/<space>.json`."""

    head: str = ""  # the fence around what is said
    foot: str = ""
    rows: Sequence[ToolWarning] = ()
    fixes: int = 0  # 0: no failed tool has a known fix here
    space: str = ""

    def to_json(self) -> dict[str, Any]:
        """JSON values with the rows as objects."""
        return {**self._asdict(), "rows": [row._asdict() for row in self.rows]}


class SpooledEvent(NamedTuple):
    """An event on its way to the worker, without secrets, and what was said with it."""

    event: HookEvent
    at: float
    space: str
    root: str = ""
    ids: Sequence[str] = ()
    due: Sequence[str] = ()
    redacted_by: str = ""  # a `redaction_rules`; empty: by an earlier version
    why: Sequence[Sequence[str]] = ()  # reasons for each of `ids`; empty: by an earlier version
    planned: Sequence[str] = ()  # files that a plan named with it
    withheld: Sequence[str] = ()  # what a session that is held out was not told
    waited: float = 0.0  # seconds that the host waited for what was said; 0: nobody measured

    def to_json(self) -> dict[str, Any]:
        """One flat object, as earlier versions write and read it."""
        about = self._asdict()
        del about["event"]
        return {**self.event._asdict(), **about}


def redaction_rules(policy: Policy) -> str:
    """The name of the rules by which this version redacts under a policy."""
    tables = (__version__, RULES_FINGERPRINT)
    choices = (policy.personal, policy.contact, policy.intimate)
    return "|".join((*tables, *choices, *policy.sensitive))


def first_text(payload: Mapping[str, Any], *names: str) -> str:
    """The first of these values that is a text; empty where none is."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""
