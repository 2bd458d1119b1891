"""Recorded conversations as values, whoever recorded them.

Three formats, told apart by what is in the file: messages in the shape of OpenAI's API (a JSON
list, {"messages": […]}, or one message a line), Claude Code's transcripts (a line for each entry,
of which "user" and "assistant" count), and corpora ({"id", "text", "timestamp", "session_id",
"speaker"} a line). What is none of these raises BadTranscript with the number of the line. A
process that died leaves a file whose last line is unfinished, and now and then a byte that is no
text: that is left out, or replaced, and said in `Recording.remarks`. Nothing is printed, opened or
kept here.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reverie.core.errors import BadInput, BadTranscript
from reverie.memory.memory_validation import parse_moment
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


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """Something that somebody said, or that a tool answered."""

    role: str  # user, assistant, system, tool
    text: str
    speaker: str = ""
    at: float | None = None


@dataclass(frozen=True, slots=True)
class RecordedConversation:
    """One session, in order."""

    session: str
    messages: tuple[RecordedMessage, ...]


@dataclass(frozen=True, slots=True)
class RecordedTranscript:
    """A file of conversations, and which format it was in: "messages", "claude" or "corpus"."""

    form: str
    conversations: tuple[RecordedConversation, ...]
    remarks: tuple[str, ...] = ()  # what was left out or replaced


def read_transcript(data: bytes, name: str = "recording") -> RecordedTranscript:
    """The conversations in a file; a session without a name of its own gets the file's."""
    text, remarks = decode_transcript(data)
    text, more = drop_unfinished_line(text)
    remarks += more
    try:
        entries = list(iter_json_objects(text))
    except BadTranscript as err:
        raise BadTranscript(". ".join((str(err), *remarks))) from err
    if not entries:
        raise BadTranscript("There is nothing in that file")
    for form, fits, reader in FORMATS:
        if any(fits(entry) for _, entry in entries):
            found = tuple(talk for talk in reader(entries, name) if talk.messages)
            if not found:
                raise BadTranscript("There is no message in that file")
            return RecordedTranscript(form, found, remarks)
    number, entry = entries[0]
    raise BadTranscript(
        f"Line {number} is no message: it has {', '.join(sorted(entry)[:6]) or 'nothing in it'}. "
        "Known are OpenAI messages (role, content), Claude Code transcripts (type, message) and "
        "corpora (text, session_id, speaker)"
    )


def read_provider_messages(data: bytes) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The messages of a file in the shape in which a provider takes them, tools' calls and results
    included, all as one conversation; and what was left out or replaced. When one was said stands
    in it as `at`, where that is known.
    """
    remarks = read_transcript(data).remarks  # says what is wrong with a file that cannot be read
    entries = list(iter_json_objects(drop_unfinished_line(decode_transcript(data)[0])[0]))
    if any(is_claude_entry(entry) for _, entry in entries):
        return join_claude_entries(entries), remarks
    if any(is_openai_message(entry) for _, entry in entries):
        return [
            stamp_message(entry, entry.get("timestamp", entry.get("at")), number)
            for number, entry in entries
        ], remarks
    talks = (talk for _, _, reader in FORMATS[-1:] for talk in reader(entries, ""))
    said = [message for talk in talks for message in talk.messages]
    return [
        stamp_message({"role": one.role, "content": one.text}, one.at, 0) for one in said
    ], remarks


def join_claude_entries(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """The messages of a Claude Code transcript: it writes a line for each part of one, here they
    are whole again.
    """
    found: list[dict[str, Any]] = []
    for number, entry in entries:
        if not is_claude_entry(entry) or entry.get("isSidechain") or entry.get("isMeta"):
            continue
        message = {
            "role": entry["type"],
            "content": to_content_parts(entry["message"].get("content")),
        }
        if found and found[-1]["role"] == message["role"]:
            found[-1]["content"] += message["content"]
        else:
            found.append(stamp_message(message, entry.get("timestamp"), number))
    return found


def to_content_parts(content: Any) -> list[Any]:
    """A content as a list of parts."""
    if isinstance(content, list):
        return list(content)
    return [{"type": "text", "text": content}] if isinstance(content, str) and content else []


def stamp_message(message: Mapping[str, Any], when: Any, number: int) -> dict[str, Any]:
    """A message with the moment at which it was said."""
    at = parse_entry_time(when, number)
    return {**message, "at": at} if at is not None else dict(message)


def decode_transcript(data: bytes) -> tuple[str, tuple[str, ...]]:
    """Text from bytes, with or without a byte order mark, and where it was none; what is no text
    becomes �.
    """
    code = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return data.decode(code), ()
    except UnicodeDecodeError as err:
        line = data[: err.start].count(b"\n") + 1
        return data.decode(code, "replace"), (
            f"Line {line} is not UTF-8 text; what cannot be read there became �",
        )


def drop_unfinished_line(text: str) -> tuple[str, tuple[str, ...]]:
    """JSON Lines without a last line that was cut off, and a word about it; all else as it is."""
    head, _, last = text.rstrip().rpartition("\n")
    first = next((line for line in head.split("\n") if line.strip()), "")
    if not last.lstrip().startswith("{") or is_json(last) or not is_json(first):
        return text, ()
    return head, (f"Line {head.count(chr(10)) + 2} is unfinished and was left out",)


def iter_json_objects(text: str) -> Iterator[Entry]:
    """The JSON objects of a file: of one list, of one object with messages, or one a line."""
    whole = text.strip()
    if whole.startswith("["):
        yield from number_list_objects(parse_transcript_json(whole, 1))
        return
    lines = [
        (number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()
    ]
    if whole.startswith("{") and not is_json(lines[0][1]):
        value = parse_transcript_json(whole, lines[0][0])  # one object over several lines
        yield from (
            number_list_objects(value["messages"])
            if isinstance(value.get("messages"), list)
            else [(1, value)]
        )
        return
    for number, line in lines:
        value = parse_transcript_json(line, number)
        if not isinstance(value, dict):
            raise BadTranscript(f"Line {number} is not a JSON object")
        if len(lines) == 1 and isinstance(value.get("messages"), list):
            yield from number_list_objects(value["messages"])
        else:
            yield number, value


def is_json(line: str) -> bool:
    """Whether a line stands for itself."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def number_list_objects(values: Any) -> Iterator[Entry]:
    """The objects of a list."""
    for number, value in enumerate(values, start=1):
        if not isinstance(value, dict):
            raise BadTranscript(f"Item {number} of the list is not a message")
        yield number, value


def parse_transcript_json(text: str, line: int) -> Any:
    """JSON, or an error with the number of the line."""
    try:
        return json.loads(text)
    except RecursionError as err:
        raise BadTranscript(f"Line {line} is nested too deeply") from err
    except ValueError as err:
        at = line + getattr(err, "lineno", 1) - 1
        raise BadTranscript(f"Line {at} is not JSON: {getattr(err, 'msg', err)}") from err


# OpenAI-shaped messages


def is_openai_message(entry: Mapping[str, Any]) -> bool:
    """{"role", "content"}"""
    return isinstance(entry.get("role"), str) and ("content" in entry or "tool_calls" in entry)


def read_openai_messages(entries: Sequence[Entry], name: str) -> Iterator[RecordedConversation]:
    """One conversation a session; without a name, all is one."""
    talks: dict[str, list[RecordedMessage]] = {}
    for number, entry in entries:
        if not is_openai_message(entry):
            raise BadTranscript(f"Line {number} is no message: role or content is missing")
        role = ROLES.get(entry["role"])
        if role is None:
            raise BadTranscript(
                f"Line {number} has the role {entry['role']!r}; known are {', '.join(ROLES)}"
            )
        text = "\n".join(
            part
            for part in (
                extract_spoken_text(entry.get("content")),
                render_tool_calls(entry.get("tool_calls")),
            )
            if part
        )
        if text:
            session = str(entry.get("session_id") or entry.get("session") or name)
            speaker = str(entry.get("name") or entry.get("speaker") or "")
            talks.setdefault(session, []).append(
                RecordedMessage(
                    role,
                    clean_text(text),
                    clean_text(speaker),
                    parse_entry_time(entry.get("timestamp", entry.get("at")), number),
                )
            )
    yield from (RecordedConversation(session, tuple(said)) for session, said in talks.items())


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
        case "thinking" | "redacted_thinking" | "image" | "document":
            return ""
    text = part.get("text")
    return text if isinstance(text, str) else ""


def render_tool_calls(tool_calls: Any) -> str:
    """What an assistant asked of its tools."""
    if not isinstance(tool_calls, list):
        return ""
    functions = (call.get("function", {}) for call in tool_calls if isinstance(call, Mapping))
    return "\n".join(
        format_tool_call(str(f.get("name", "tool")), f.get("arguments"))
        for f in functions
        if isinstance(f, Mapping)
    )


# Claude Code


def is_claude_entry(entry: Mapping[str, Any]) -> bool:
    """{"type": "user" | "assistant", "message": {…}}"""
    return entry.get("type") in ("user", "assistant") and isinstance(entry.get("message"), Mapping)


def read_claude_entries(entries: Sequence[Entry], name: str) -> Iterator[RecordedConversation]:
    """What user and assistant said; side conversations, the program's notes and the like do not
    count.
    """
    talks: dict[str, list[RecordedMessage]] = {}
    for number, entry in entries:
        if not is_claude_entry(entry) or entry.get("isSidechain") or entry.get("isMeta"):
            continue
        message = entry["message"]
        content = message.get("content")
        if text := extract_spoken_text(content):
            role = "tool" if is_tool_answer(content) else str(entry["type"])
            talks.setdefault(str(entry.get("sessionId") or name), []).append(
                RecordedMessage(
                    role, clean_text(text), "", parse_entry_time(entry.get("timestamp"), number)
                )
            )
    yield from (RecordedConversation(session, tuple(said)) for session, said in talks.items())


def is_tool_answer(content: Any) -> bool:
    """Whether a "user" message is what a tool answered."""
    return isinstance(content, list) and any(
        isinstance(p, Mapping) and p.get("type") == "tool_result" for p in content
    )


# Corpora


def is_corpus_entry(entry: Mapping[str, Any]) -> bool:
    """{"text", "session_id" or "speaker" or "id"}"""
    return isinstance(entry.get("text"), str) and bool(
        {"session_id", "speaker", "id"} & entry.keys()
    )


def read_corpus_entries(entries: Sequence[Entry], name: str) -> Iterator[RecordedConversation]:
    """One conversation a session; whoever is not an assistant speaks as a user."""
    talks: dict[str, list[RecordedMessage]] = {}
    for number, entry in entries:
        if not isinstance(entry.get("text"), str):
            raise BadTranscript(f"Line {number} has no text")
        if text := entry["text"].strip():
            speaker = str(entry.get("speaker") or "")
            talks.setdefault(str(entry.get("session_id") or name), []).append(
                RecordedMessage(
                    ROLES.get(speaker.lower(), "user"),
                    clean_text(text),
                    clean_text(speaker),
                    parse_entry_time(entry.get("timestamp"), number),
                )
            )
    yield from (RecordedConversation(session, tuple(said)) for session, said in talks.items())


EntryTest = Callable[[Mapping[str, Any]], bool]
EntryReader = Callable[[Sequence[Entry], str], Iterator[RecordedConversation]]
FORMATS: tuple[tuple[str, EntryTest, EntryReader], ...] = (
    ("claude", is_claude_entry, read_claude_entries),
    ("messages", is_openai_message, read_openai_messages),
    ("corpus", is_corpus_entry, read_corpus_entries),
)


def parse_entry_time(value: Any, line: int) -> float | None:
    """When it was said; a number may count milliseconds."""
    if value in (None, ""):
        return None
    try:
        at = parse_moment(
            value.replace("Z", "+00:00") if isinstance(value, str) else value, "timestamp"
        )
    except BadInput as err:
        raise BadTranscript(f"Line {line}: {err}") from err
    return at / 1000 if at is not None and at > 1e11 else at
