"""`reverie session condense TRANSCRIPT`: a conversation with its older part in few lines.

Nothing is kept or asked.
"""

from pathlib import Path

from rich.text import Text

from reverie.context_window.condensing.summary_draft import CondensedMessages
from reverie.context_window.conversation_summary import ConversationFacts, condense_messages
from reverie.context_window.message_parts import get_message_text
from reverie.context_window.window_fitting import FitRequest
from reverie.interfaces.cli.cli_context import CliContext
from reverie.interfaces.cli.replay_run import read_messages
from reverie.interfaces.cli.terminal_output import (
    escape_controls,
    one_line,
    print_note,
)
from reverie.text.host_messages import role_of

MAX_MESSAGE_CHARS = 200  # characters of a message that are shown; the summary is shown as a whole


def show_condensed(
    cli: CliContext,
    file: Path,
    request: FitRequest,
) -> None:
    """Show a conversation as it would go on within a request, without doing it."""
    messages, last = read_messages(file)
    result = condense_messages(messages, request, ConversationFacts(""), last)
    names = ("before", "after", "goal", "strategy", "why", "trouble", "messages")
    lines = (
        format_message(place, message, result)
        for place, message in zip(result.origin, result.messages, strict=True)
    )
    cli.answer({name: getattr(result, name) for name in names}, lines)
    if cli.as_json:
        return
    if result.why:
        print_note(f"Nothing left: {result.why}.")
    else:
        print_note(
            f"{result.before:,} tokens → {result.after:,} of {request.limit:,} "
            f"({request.down:.0%} wanted), "
            f"by {result.strategy}; {len(result.left)} parts left."
        )
    if result.trouble:
        print_note(f"{result.trouble}.")


def format_message(
    place: int,
    message: object,
    result: CondensedMessages,
) -> Text:
    """One message on a line, the summary on its own lines."""
    text = get_message_text(message)
    if text == result.summary:
        return Text(escape_controls(text), style="green")
    return Text(f"{place} {role_of(message)}: ", style="dim").append(
        one_line(text, MAX_MESSAGE_CHARS), style="default"
    )
