"""`reverie condense TRANSCRIPT`: a conversation with its older part in few lines. Nothing is kept
or asked.
"""

from pathlib import Path

from rich.text import Text

from reverie.lifecycle.condense.drafting import Condensed
from reverie.messages import role_of
from reverie.settle.condensing import About, condensed
from reverie.surfaces import say
from reverie.surfaces.desk import Desk
from reverie.surfaces.replay import said_in
from reverie.window.fitting import Wish
from reverie.window.shapes import text_of

WORDS = 200  # characters of a message that are shown; the summary is shown as a whole


def command(desk: Desk, file: Path, wish: Wish) -> None:
    """Read, decide, show."""
    messages, last = said_in(file)
    made = condensed(messages, wish, About(""), last)
    if desk.json:
        say.document(
            {
                name: getattr(made, name)
                for name in ("before", "after", "goal", "strategy", "why", "trouble", "messages")
            }
        )
        return
    for place, message in zip(made.origin, made.messages, strict=True):
        say.show(shown(place, message, made))
    if made.why:
        say.note(f"Nothing left: {made.why}.")
    else:
        say.note(
            f"{made.before:,} tokens → {made.after:,} of {wish.limit:,} ({wish.down:.0%} wanted), "
            f"by {made.strategy}; {len(made.left)} parts left."
        )
    if made.trouble:
        say.note(f"{made.trouble}.")


def shown(place: int, message: object, made: Condensed) -> Text:
    """One message on a line, the summary on its own lines."""
    said = text_of(message)
    if said == made.summary:
        return Text(say.safe(said), style="green")
    return Text(f"{place} {role_of(message)}: ", style="dim").append(
        say.one_line(said, WORDS), style="default"
    )
