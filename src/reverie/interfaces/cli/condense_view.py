"""`reverie condense TRANSCRIPT`: a conversation with its older part in few lines. Nothing is kept
or asked.
"""

from pathlib import Path

from rich.text import Text

from reverie.context_window.condensing.summary_draft import CondensedMessages
from reverie.context_window.conversation_summary import ConversationFacts, condense_messages
from reverie.context_window.provider_messages import get_message_text
from reverie.context_window.window_fitting import FitRequest
from reverie.interfaces.cli.cli_context import CliContext
from reverie.interfaces.cli.replay_run import read_messages
from reverie.interfaces.cli.terminal_output import (
    escape_controls,
    one_line,
    print_json,
    print_note,
    print_rich,
)
from reverie.text.host_messages import role_of

MAX_MESSAGE_CHARS = 200  # characters of a message that are shown; the summary is shown as a whole


def show_condensed(cli: CliContext, file: Path, wish: FitRequest) -> None:
    """Read, decide, show."""
    messages, last = read_messages(file)
    made = condense_messages(messages, wish, ConversationFacts(""), last)
    if cli.as_json:
        print_json(
            {
                name: getattr(made, name)
                for name in ("before", "after", "goal", "strategy", "why", "trouble", "messages")
            }
        )
        return
    for place, message in zip(made.origin, made.messages, strict=True):
        print_rich(format_message(place, message, made))
    if made.why:
        print_note(f"Nothing left: {made.why}.")
    else:
        print_note(
            f"{made.before:,} tokens → {made.after:,} of {wish.limit:,} ({wish.down:.0%} wanted), "
            f"by {made.strategy}; {len(made.left)} parts left."
        )
    if made.trouble:
        print_note(f"{made.trouble}.")


def format_message(place: int, message: object, made: CondensedMessages) -> Text:
    """One message on a line, the summary on its own lines."""
    said = get_message_text(message)
    if said == made.summary:
        return Text(escape_controls(said), style="green")
    return Text(f"{place} {role_of(message)}: ", style="dim").append(
        one_line(said, MAX_MESSAGE_CHARS), style="default"
    )
