"""`reverie condense TRANSCRIPT`: a conversation with its older part in few lines. Nothing is kept
or asked.
"""

from pathlib import Path

from rich.text import Text

from reverie.context_window.condensing.summary_draft import Condensed
from reverie.context_window.conversation_summary import About, condensed
from reverie.context_window.provider_messages import text_of
from reverie.context_window.window_fitting import Wish
from reverie.interfaces.cli import terminal_output
from reverie.interfaces.cli.cli_context import Desk
from reverie.interfaces.cli.replay_run import said_in
from reverie.text.host_messages import role_of

WORDS = 200  # characters of a message that are shown; the summary is shown as a whole


def command(desk: Desk, file: Path, wish: Wish) -> None:
    """Read, decide, show."""
    messages, last = said_in(file)
    made = condensed(messages, wish, About(""), last)
    if desk.json:
        terminal_output.document(
            {
                name: getattr(made, name)
                for name in ("before", "after", "goal", "strategy", "why", "trouble", "messages")
            }
        )
        return
    for place, message in zip(made.origin, made.messages, strict=True):
        terminal_output.show(shown(place, message, made))
    if made.why:
        terminal_output.note(f"Nothing left: {made.why}.")
    else:
        terminal_output.note(
            f"{made.before:,} tokens → {made.after:,} of {wish.limit:,} ({wish.down:.0%} wanted), "
            f"by {made.strategy}; {len(made.left)} parts left."
        )
    if made.trouble:
        terminal_output.note(f"{made.trouble}.")


def shown(place: int, message: object, made: Condensed) -> Text:
    """One message on a line, the summary on its own lines."""
    said = text_of(message)
    if said == made.summary:
        return Text(terminal_output.safe(said), style="green")
    return Text(f"{place} {role_of(message)}: ", style="dim").append(
        terminal_output.one_line(said, WORDS), style="default"
    )
