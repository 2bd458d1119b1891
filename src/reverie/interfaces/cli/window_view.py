"""`reverie session window TRANSCRIPT`: what would leave a full context window, why,
and how it looks before and after.

Nothing is kept or changed; no memory is opened. A bar shows how the window is filled: what stays as
it is at its beginning, what goes, what becomes a line, what stays after that.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from reverie.context_window.pruning import START_SHARE, TARGET_SHARE, PrunedItem, PruningPlan
from reverie.context_window.window_fitting import FitRequest, FittedMessages, fit_messages
from reverie.interfaces.cli.cli_context import CliContext
from reverie.interfaces.cli.replay_run import read_messages
from reverie.interfaces.cli.terminal_output import (
    one_line,
)

if TYPE_CHECKING:
    from reverie.interfaces.cli.terminal_output import View

BAR_WIDTH = 72  # cells of the bar
MAX_ITEM_CHARS = 60  # characters of an item that are shown
STAYS, LINE, GOES, FREE = ("█", "green"), ("▒", "yellow"), ("░", "red"), ("·", "dim")


def show_window_plan(
    cli: CliContext,
    file: Path,
    request: FitRequest,
) -> None:
    """Show what would leave the window to meet a request, without doing it."""
    messages, last = read_messages(file)
    fitted = fit_messages(messages, request, last)
    cli.answer(plan_to_json(fitted), render_window_plan(fitted.plan))
    if fitted.trouble:
        cli.note(f"{fitted.trouble}.")


def render_window_plan(plan: PruningPlan) -> "View":
    """What leaves as a table, and the window before and after as bars."""
    if not plan.going and plan.before < START_SHARE * plan.limit:
        yield f"Nothing goes: {plan.before:,} tokens are below {START_SHARE:.0%} of {plan.limit:,}."
        return
    table = Table(
        box=None,
        padding=(0, 1),
        header_style="dim",
    )
    table.add_column(
        "message",
        no_wrap=True,
        overflow="fold",
    )
    table.add_column(
        "tokens",
        justify="right",
        no_wrap=True,
        overflow="fold",
    )
    table.add_column(
        "worth",
        justify="right",
        no_wrap=True,
        overflow="fold",
    )
    table.add_column(
        "becomes",
        no_wrap=True,
        overflow="fold",
    )
    table.add_column("says", overflow="fold")
    for leaving in plan.going:
        table.add_row(*make_plan_row(leaving, max(plan.worth)))
    yield table
    yield ""
    yield Text("before ").append(draw_bar(split_window(plan, after=False), plan))
    yield Text("after  ").append(draw_bar(split_window(plan, after=True), plan))
    yield (
        f"{plan.before:,} tokens → {plan.after:,} of {plan.limit:,} "
        f"({TARGET_SHARE:.0%} wanted), by {plan.strategy}; the first {plan.prefix:,} stay as "
        "they are, so the prompt cache keeps them."
    )


def make_plan_row(leaving: PrunedItem, best: float) -> list[Text]:
    """One line of the table."""
    becomes = Text("a line", style=LINE[1]) if leaving.stub else Text("memory", style=GOES[1])
    worth = leaving.worth / best if best else 0.0
    words = Text(one_line(leaving.item.tool or leaving.item.text, MAX_ITEM_CHARS))
    words.append(f"\n{one_line(leaving.why)}", style="dim")
    return [
        Text(leaving.item.id),
        Text(f"−{leaving.tokens:,}"),
        Text(f"{worth:.0%}"),
        becomes,
        words,
    ]


def split_window(
    plan: PruningPlan,
    *,
    after: bool,
) -> list[tuple[int, tuple[str, str]]]:
    """Stretches of the window as (tokens, look)."""
    if after:
        return [(plan.after, STAYS)]
    gone = sum(leaving.tokens for leaving in plan.going if not leaving.stub)
    lines = sum(leaving.tokens for leaving in plan.going if leaving.stub)
    return [(plan.prefix, STAYS), (gone, GOES), (lines, LINE), (plan.after - plan.prefix, STAYS)]


def draw_bar(
    stretches: Sequence[tuple[int, tuple[str, str]]],
    plan: PruningPlan,
) -> Text:
    """A bar that is as wide as the limit, or as what there was if that is more."""
    whole = max(plan.limit, plan.before)
    text, seen, cells = Text(), 0, 0
    for size, (sign, style) in stretches:
        seen += size
        # Ends are rounded, not widths: so the bar is as wide as the sum of its stretches.
        width = round(BAR_WIDTH * seen / whole) - cells
        text.append(sign * width, style=style)
        cells += width
    return text.append(
        FREE[0] * (BAR_WIDTH - cells),
        style=FREE[1],
    )


def plan_to_json(fitted: FittedMessages) -> dict[str, Any]:
    """The plan as JSON values."""
    plan = fitted.plan
    return {
        "limit": plan.limit,
        "strategy": plan.strategy,
        "before": plan.before,
        "after": plan.after,
        "prefix": plan.prefix,
        "fits": plan.fits,
        "trouble": plan.trouble,
        "going": [
            {
                "messages": leaving.item.messages,
                "type": leaving.item.type,
                "tokens": leaving.tokens,
                "worth": leaving.worth,
                "why": leaving.why,
                "stub": leaving.stub,
            }
            for leaving in plan.going
        ],
    }
