"""Recorded conversations as values, whoever recorded them.

The formats are told apart by what is in the file:

- messages in the shape of OpenAI's API: a JSON list, {"messages": […]}, or one message a line
- Claude Code's transcripts: a line for each entry, of which "user" and "assistant" count
- Codex's rollouts: a line for each item
- corpora: {"id", "text", "timestamp", "session_id", "speaker"} a line
- pages of Markdown: SpecStory's exports and aider's chat history (`chat_pages`)

What is none of these raises BadTranscript with the number of the line. Where some lines can be
read, the others are left out, and so is a last line that a process that died left unfinished; a
byte that is no text is replaced, a time that is none forgotten. `RecordedTranscript.remarks` says
so. Nothing is printed, opened or kept here.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reverie.core.errors import BadInput, BadTranscript, EmptyTranscript
from reverie.core.model import Fields
from reverie.memory.memory_validation import parse_moment
from reverie.porting.chat_pages import read_chat_page
from reverie.text.host_messages import format_tool_call
from reverie.text.text_cleaning import clean_text

# the number of the line (or of the item of a list), and what stands there
Entry = tuple[int, dict[str, Any]]

ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
# a number beyond it counts milliseconds: as seconds it lies in the year 5138
MAX_SECONDS = 1e11
# Lines of Claude Code's that hold no message. A file may have no others.
CLAUDE_NOTES = ("summary", "file-history-snapshot", "queue-operation", "custom-title")
# What Codex puts into the user's messages.
CODEX_HOST_TEXTS = (
    "<environment_context>",
    "<user_instructions>",
    "<INSTRUCTIONS>",
    "<turn_aborted>",
    "<user_action>",
    "<skill>",
    "<subagent_notification>",
    "# AGENTS.md instructions for ",
)


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """Something that somebody said, or that a tool answered."""

    role: str  # user, assistant, system, tool
    text: str
    speaker: str = ""
    at: float | None = None


# the name of a session, and what is said in it
SessionMessage = tuple[str, RecordedMessage]


@dataclass(frozen=True, slots=True)
class RecordedConversation:
    """One session, in order."""

    session: str
    messages: tuple[RecordedMessage, ...]


@dataclass(frozen=True, slots=True)
class RecordedTranscript:
    """A file of conversations, and which format it was in: a name of `FORMATS`, or "page"."""

    form: str
    conversations: tuple[RecordedConversation, ...]
    remarks: tuple[str, ...] = ()  # what was left out or replaced
    folder: str = ""  # where the agent worked, if the file says so
    left_out: int = 0  # lines that cannot be read


@dataclass(slots=True)
class LineDamage:
    """What is wrong with lines of a file, in words that name the line."""

    left_out: list[str] = field(default_factory=list)
    undated: list[str] = field(default_factory=list)  # those that were read without their time

    def describe(self) -> tuple[str, ...]:
        """A remark of each kind, however many lines there are."""
        return tuple(
            f"{len(lines)} {'line was' if len(lines) == 1 else 'lines were'} {what}; "
            f"the first: {lines[0]}"
            for lines, what in ((self.left_out, "left out"), (self.undated, "read without a time"))
            if lines
        )


def read_transcript(data: bytes, name: str = "recording") -> RecordedTranscript:
    """The conversations in a file; a session without a name of its own gets the file's."""
    text, remarks = decode_whole_lines(data)
    if (page := read_chat_page(text, name)) is not None:
        said = ((one.session, RecordedMessage(one.role, one.text, "", one.at)) for one in page)
        return RecordedTranscript("page", require_messages(group_by_session(said)), remarks)
    damage = LineDamage()
    try:
        entries = list(iter_json_objects(text, damage))
    except BadTranscript as err:
        raise BadTranscript(". ".join((str(err), *remarks))) from err
    if not entries and damage.left_out:
        raise BadTranscript(". ".join((damage.left_out[0], *remarks)))
    if not entries:
        raise EmptyTranscript("There is nothing in that file")
    for form, fits, read_entries in FORMATS:
        if any(fits(entry) for _, entry in entries):
            found = group_by_session(read_entries(entries, name, damage))
            if not found and damage.left_out:
                raise BadTranscript(damage.left_out[0])
            return RecordedTranscript(
                form,
                require_messages(found),
                remarks + damage.describe(),
                find_work_folder(entries),
                len(damage.left_out),
            )
    number, entry = entries[0]
    raise BadTranscript(
        f"Line {number} is no message: it has {', '.join(sorted(entry)[:6]) or 'nothing in it'}. "
        "Known are OpenAI messages (role, content), transcripts of Claude Code (type, message) and "
        "Codex (type, payload), and corpora (text, session_id, speaker)"
    )


def require_messages(
    found: tuple[RecordedConversation, ...],
) -> tuple[RecordedConversation, ...]:
    """The conversations, if there is any."""
    if not found:
        raise EmptyTranscript("There is no message in that file")
    return found


def find_work_folder(entries: Iterable[Entry]) -> str:
    """Where the agent worked by what its host wrote down; "" if that is not said."""
    for _, entry in entries:
        about = entry.get("payload") if isinstance(entry.get("payload"), Mapping) else entry
        folder = about.get("cwd") if isinstance(about, Mapping) else None
        if isinstance(folder, str) and folder:
            return clean_text(folder)
    return ""


def read_provider_messages(data: bytes) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The messages of a file as a provider takes them, and what was left out or replaced.

    Tools' calls and results are included, and all is one conversation. When a message was said
    stands in it as `at`, if that is known.
    """
    # says what is wrong with a file that cannot be read
    recorded = read_transcript(data)
    remarks = recorded.remarks
    if recorded.form in ("page", "codex"):
        said = (one for talk in recorded.conversations for one in talk.messages)
        return [
            stamp_message({"role": one.role, "content": one.text}, one.at, 0) for one in said
        ], remarks
    damage = LineDamage()
    entries = list(iter_json_objects(decode_whole_lines(data)[0], damage))
    if any(is_claude_entry(entry) for _, entry in entries):
        return join_claude_entries(entries), remarks
    if any(is_openai_message(entry) for _, entry in entries):
        messages = [
            stamp_message(entry, entry.get("timestamp", entry.get("at")), number)
            for number, entry in entries
            if is_openai_message(entry) and entry["role"] in ROLES
        ]
        return messages, remarks
    messages = []
    for conversation in group_by_session(read_corpus_entries(entries, "", damage)):
        for one in conversation.messages:
            messages.append(stamp_message({"role": one.role, "content": one.text}, one.at, 0))
    return messages, remarks


def join_claude_entries(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """The messages of a Claude Code transcript, which writes a line for each part of one, whole."""
    messages: list[dict[str, Any]] = []
    for number, entry in entries:
        if not counts_as_said(entry):
            continue
        message = {
            "role": entry["type"],
            "content": to_content_parts(entry["message"].get("content")),
        }
        # A line for each part: they are one message.
        if messages and messages[-1]["role"] == message["role"]:
            messages[-1]["content"] += message["content"]
        else:
            messages.append(stamp_message(message, entry.get("timestamp"), number))
    return messages


def to_content_parts(content: Any) -> list[Any]:
    """A content as a list of parts."""
    if isinstance(content, list):
        return list(content)
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else []


def stamp_message(
    message: Fields,
    said_at: Any,
    number: int,
) -> dict[str, Any]:
    """A message with the time at which it was said, if that is known."""
    at = parse_entry_time(said_at, number, LineDamage())
    return {**message, "at": at} if at is not None else dict(message)


def decode_whole_lines(data: bytes) -> tuple[str, tuple[str, ...]]:
    """The text of a file without an unfinished last line, and what was left out or replaced."""
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    damage: tuple[str, ...] = ()
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as err:
        line = data[: err.start].count(b"\n") + 1
        damage = (f"Line {line} is not UTF-8 text; what cannot be read there became �",)
        text = data.decode(encoding, "replace")
    text, unfinished = drop_unfinished_line(text)
    return text, damage + unfinished


def drop_unfinished_line(text: str) -> tuple[str, tuple[str, ...]]:
    """JSON Lines without a last line that was cut off, and a remark about it; all else as it is."""
    # A process that died leaves half a line. Only of lines of JSON can that be told.
    head, _, last = text.rstrip().rpartition("\n")
    first = next(
        (line for line in head.split("\n") if line.strip()),
        "",
    )
    if not last.lstrip().startswith("{") or is_json(last) or not is_json(first):
        return text, ()
    number = head.count("\n") + 2
    return head, (f"Line {number} is unfinished and was left out",)


def iter_json_objects(text: str, damage: LineDamage) -> Iterator[Entry]:
    """The JSON objects of a file: of one list, of one object with messages, or one a line."""
    # A list may be spread over lines that are no JSON by themselves.
    whole = text.strip()
    if whole.startswith("["):
        yield from number_list_objects(parse_transcript_json(whole, 1), damage)
        return
    numbered = enumerate(text.split("\n"), start=1)
    lines = [(number, line) for number, line in numbered if line.strip()]
    if whole.startswith("{") and not any(is_json_object(line) for _, line in lines):
        # one object over several lines
        value = parse_transcript_json(whole, lines[0][0])
        if isinstance(value.get("messages"), list):
            yield from number_list_objects(value["messages"], damage)
        else:
            yield 1, value
        return
    for number, line in lines:
        try:
            value = parse_transcript_json(line, number)
        except BadTranscript as err:
            damage.left_out.append(str(err))
            continue
        if not isinstance(value, dict):
            damage.left_out.append(f"Line {number} is not a JSON object")
        elif len(lines) == 1 and isinstance(value.get("messages"), list):
            yield from number_list_objects(value["messages"], damage)
        else:
            yield number, value


def is_json_object(line: str) -> bool:
    """True if a line is a JSON object by itself."""
    return line.lstrip().startswith("{") and is_json(line)


def is_json(line: str) -> bool:
    """True if a line is a JSON value by itself."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def number_list_objects(values: Any, damage: LineDamage) -> Iterator[Entry]:
    """The objects of a list, with their numbers from 1."""
    for number, value in enumerate(values, start=1):
        if isinstance(value, dict):
            yield number, value
        else:
            damage.left_out.append(f"Item {number} of the list is not a message")


def parse_transcript_json(text: str, line: int) -> Any:
    """The JSON value of a text that begins on a line; BadTranscript with the line of an error."""
    try:
        return json.loads(text)
    except RecursionError as err:
        raise BadTranscript(f"Line {line} is nested too deeply") from err
    except ValueError as err:
        at = line + getattr(err, "lineno", 1) - 1
        raise BadTranscript(f"Line {at} is not JSON: {getattr(err, 'msg', err)}") from err


def group_by_session(
    messages: Iterable[SessionMessage],
) -> tuple[RecordedConversation, ...]:
    """A conversation for each session, in order."""
    sessions: dict[str, list[RecordedMessage]] = {}
    for session, message in messages:
        sessions.setdefault(clean_text(session), []).append(message)
    return tuple(RecordedConversation(name, tuple(said)) for name, said in sessions.items())


# OpenAI-shaped messages


def is_openai_message(entry: Fields) -> bool:
    """True for {"role", "content"}."""
    return isinstance(entry.get("role"), str) and ("content" in entry or "tool_calls" in entry)


def read_openai_messages(
    entries: Sequence[Entry],
    name: str,
    damage: LineDamage,
) -> Iterator[SessionMessage]:
    """What each message says; without a session of its own, it is of the session `name`."""
    for number, entry in entries:
        if not is_openai_message(entry):
            damage.left_out.append(f"Line {number} is no message: role or content is missing")
            continue
        role = ROLES.get(entry["role"])
        if role is None:
            damage.left_out.append(
                f"Line {number} has the role {entry['role']!r}; known are {', '.join(ROLES)}"
            )
            continue
        spoken = extract_spoken_text(entry.get("content"))
        calls = render_tool_calls(entry.get("tool_calls"))
        text = "\n".join(part for part in (spoken, calls) if part)
        if text:
            session = str(entry.get("session_id") or entry.get("session") or name)
            speaker = str(entry.get("name") or entry.get("speaker") or "")
            at = parse_entry_time(entry.get("timestamp", entry.get("at")), number, damage)
            yield session, RecordedMessage(role, clean_text(text), clean_text(speaker), at)


def extract_spoken_text(content: Any) -> str:
    """What is said in a content: a text, or the texts among its parts."""
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, list):
        return ""
    parts = (part if isinstance(part, str) else extract_content_part(part) for part in content)
    return "\n".join(text for text in parts if text).strip()


def extract_content_part(part: Any) -> str:
    """What is said in one part of a content."""
    if not isinstance(part, Mapping):
        return ""
    match part.get("type"):
        case "tool_use":
            return format_tool_call(str(part.get("name", "tool")), part.get("input"))
        case "tool_result":
            return extract_spoken_text(part.get("content"))
        # Nobody said it to anybody, or it is no text.
        case "thinking" | "redacted_thinking" | "image" | "document":
            return ""
    text = part.get("text")
    return text if isinstance(text, str) else ""


def render_tool_calls(tool_calls: Any) -> str:
    """What an assistant asked of its tools, a line each."""
    if not isinstance(tool_calls, list):
        return ""
    functions = (call.get("function", {}) for call in tool_calls if isinstance(call, Mapping))
    return "\n".join(
        format_tool_call(str(function.get("name", "tool")), function.get("arguments"))
        for function in functions
        if isinstance(function, Mapping)
    )


# Claude Code


def is_claude_line(entry: Fields) -> bool:
    """True for what Claude Code writes: what was said, or a note about it."""
    return entry.get("type") in CLAUDE_NOTES or is_claude_entry(entry)


def is_claude_entry(entry: Fields) -> bool:
    """True for {"type": "user" | "assistant", "message": {…}}."""
    return entry.get("type") in ("user", "assistant") and isinstance(
        entry.get("message"),
        Mapping,
    )


def counts_as_said(entry: Fields) -> bool:
    """True for what user and assistant said, not a side conversation or a note of the program."""
    # What subagents said, notes of the program and its summary of what no longer fitted have the
    # same types.
    if any(entry.get(mark) for mark in ("isSidechain", "isMeta", "isCompactSummary")):
        return False
    return is_claude_entry(entry)


def read_claude_entries(
    entries: Sequence[Entry],
    name: str,
    damage: LineDamage,
) -> Iterator[SessionMessage]:
    """What user and assistant said."""
    for number, entry in entries:
        if not counts_as_said(entry):
            continue
        content = entry["message"].get("content")
        text = extract_spoken_text(content)
        if text:
            role = "tool" if is_tool_answer(content) else str(entry["type"])
            at = parse_entry_time(entry.get("timestamp"), number, damage)
            session = str(entry.get("sessionId") or name)
            yield session, RecordedMessage(role, clean_text(text), "", at)


def is_tool_answer(content: Any) -> bool:
    """True if a "user" message is what a tool answered."""
    if not isinstance(content, list):
        return False
    parts = (part for part in content if isinstance(part, Mapping))
    return any(part.get("type") == "tool_result" for part in parts)


# Codex


def is_codex_entry(entry: Fields) -> bool:
    """True for a line of a rollout, or for the head of one of 2025."""
    if entry.get("type") in ("session_meta", "response_item"):
        return isinstance(entry.get("payload"), Mapping)
    return "instructions" in entry and "id" in entry and "role" not in entry


def read_codex_entries(
    entries: Sequence[Entry],
    name: str,
    damage: LineDamage,
) -> Iterator[SessionMessage]:
    """What user and assistant said, and what tools answered; nothing of a subagent's session."""
    session = name
    for number, entry in entries:
        # Items of 2025 stand in the file as they are.
        item = entry["payload"] if isinstance(entry.get("payload"), Mapping) else entry
        if entry.get("type") == "session_meta" or is_codex_entry(item):
            if isinstance(item.get("source"), Mapping):
                return
            session = str(item.get("id") or session)
        elif entry.get("type") in ("response_item", item.get("type")):
            role, text = read_codex_item(item)
            if text:
                at = parse_entry_time(entry.get("timestamp"), number, damage)
                yield session, RecordedMessage(role, clean_text(text), "", at)


def read_codex_item(item: Fields) -> tuple[str, str]:
    """(role, text) of an item of OpenAI's Responses; of reasoning nothing."""
    match item.get("type"):
        case "message":
            text = extract_spoken_text(item.get("content"))
            role = ROLES.get(str(item.get("role")), "system")
            # What the program put in is nobody's word.
            return ("system" if text.startswith(CODEX_HOST_TEXTS) else role), text
        case "function_call" | "custom_tool_call" | "local_shell_call":
            given = item.get("arguments") or item.get("input") or item.get("action")
            return "assistant", format_tool_call(str(item.get("name") or "shell"), given)
        case "function_call_output" | "custom_tool_call_output":
            output = item.get("output")
            if isinstance(output, Mapping):
                output = output.get("content")
            return "tool", extract_spoken_text(output)
    return "", ""


# Corpora


def is_corpus_entry(entry: Fields) -> bool:
    """True for {"text", "session_id" or "speaker" or "id"}."""
    has_context = bool({"session_id", "speaker", "id"} & entry.keys())
    return isinstance(entry.get("text"), str) and has_context


def read_corpus_entries(
    entries: Sequence[Entry],
    name: str,
    damage: LineDamage,
) -> Iterator[SessionMessage]:
    """What each entry says; whoever is not an assistant speaks as a user."""
    for number, entry in entries:
        if not isinstance(entry.get("text"), str):
            damage.left_out.append(f"Line {number} has no text")
            continue
        text = entry["text"].strip()
        if text:
            speaker = str(entry.get("speaker") or "")
            role = ROLES.get(speaker.lower(), "user")
            at = parse_entry_time(entry.get("timestamp"), number, damage)
            session = str(entry.get("session_id") or name)
            yield session, RecordedMessage(role, clean_text(text), clean_text(speaker), at)


EntryTest = Callable[[Fields], bool]
EntryReader = Callable[[Sequence[Entry], str, LineDamage], Iterator[SessionMessage]]
# the first format that fits any entry wins
FORMATS: tuple[tuple[str, EntryTest, EntryReader], ...] = (
    ("codex", is_codex_entry, read_codex_entries),
    ("claude", is_claude_line, read_claude_entries),
    ("messages", is_openai_message, read_openai_messages),
    ("corpus", is_corpus_entry, read_corpus_entries),
)


def parse_entry_time(value: Any, line: int, damage: LineDamage) -> float | None:
    """When it was said, in seconds since 1970; a number may count milliseconds."""
    if value in (None, ""):
        return None
    if isinstance(value, str):
        value = value.replace("Z", "+00:00")
    elif isinstance(value, (int, float)) and value > MAX_SECONDS:
        value /= 1_000
    try:
        return parse_moment(value, "timestamp")
    except BadInput as err:
        damage.undated.append(f"Line {line}: {err}")
        return None
