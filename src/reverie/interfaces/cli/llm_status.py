"""The language model on a terminal: which one it is, what it took today, how its calls ended, and
until when it rests.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import typer

from reverie import Mind
from reverie.core import clock
from reverie.core.environment import has_variable
from reverie.interfaces.cli import memory_view
from reverie.interfaces.cli.cli_context import CliContext

if TYPE_CHECKING:
    from reverie.interfaces.cli.terminal_output import View
    from reverie.llm.language_model import LanguageModel

NO_MODEL = (
    "No language model is configured; everything works without one. To use one, set llm in "
    "config.toml, "
    'for instance llm = "anthropic:claude-haiku-4-5", and its key in REVERIE_LLM_KEY.'
)
OFFERS = (
    ("ANTHROPIC_API_KEY", "", "anthropic:claude-haiku-4-5"),
    ("OPENAI_API_KEY", "", "openai:gpt-5-mini"),
    ("", "claude", "claude-cli:haiku"),
    ("", "codex", "codex-cli:gpt-5-mini"),
)
"""What an environment may offer: (variable, program on PATH, setting that would use it)."""
OFFLINE = "offline = true: no connection is opened, so the language model is not asked."


def report_llm_status(cli: CliContext, check: bool) -> None:
    """Show how things stand; with `check`, ask the model something small first."""
    with cli.open_mind() as mind:
        asked = check_llm(mind) if check else {}
        values = {**llm_status_values(mind), **({"check": asked} if check else {})}
    cli.answer(values, render_llm_status(values, bool(cli.settings.llm)))
    if check and asked.get("outcome") != "ok":
        raise typer.Exit(1)


def check_llm(mind: Mind) -> dict[str, Any]:
    """What became of a small question."""
    if mind.llm is None:
        return {"outcome": "", "why": "there is no model to ask"}
    from reverie.llm.language_model import LlmRequest
    from reverie.llm.prompt_format import FENCE_RULES, fence_rows, read_json_object

    question = LlmRequest(
        "check",
        f'Form: {{"ready": true}}. {FENCE_RULES}',
        fence_rows([{"ready": True}]),
        max_tokens=200,
    )
    answer = mind.llm.ask(
        question,
        lambda text: read_json_object(text, "ready"),
        space="me",
        checking=True,
    )
    return {"outcome": answer.outcome, "why": answer.why}


def find_llm_offers() -> list[dict[str, str]]:
    """The models that this environment offers, with the setting that would use each."""
    return [
        {"found": f"${variable}" if variable else f"`{program}` on PATH", "llm": setting}
        for variable, program, setting in OFFERS
        if (variable and has_variable(variable)) or (program and shutil.which(program))
    ]


def llm_status_values(mind: Mind) -> dict[str, Any]:
    """How things stand with the model, as JSON values."""
    if mind.llm is None:
        return {"model": "", "offers": find_llm_offers()}
    day, limits = mind.llm.day(), mind.llm.limits
    return {
        "model": mind.llm.name,
        "date": day.date,
        "tokens_in": day.tokens_in,
        "tokens_out": day.tokens_out,
        "tokens_per_day": limits.tokens,
        "dollars": day.dollars,
        "dollars_per_day": limits.dollars,
        "unpriced": day.unpriced,
        "outcomes": {task: dict(outcomes) for task, outcomes in day.outcomes.items()},
        "rests_for": max(0.0, day.rest_until - clock.now()),
        "why": day.why,
    }


def describe_llm(model: LanguageModel | None, configured: str) -> str:
    """The model in one line, for `reverie status`."""
    if model is None:
        return f"{configured}: not asked, because offline" if configured else "none"
    day = model.day()
    spent = day.tokens_in + day.tokens_out
    rests = f"; paused: {day.why}" if day.rest_until > clock.now() else ""
    cost = f", ${day.dollars:.2f}" if day.dollars else ""
    return f"{model.name}: {spent:,} tokens today{cost}{rests}"


def render_llm_status(values: dict[str, Any], configured: bool) -> View:
    """The status for people."""
    from reverie.injection.candidate_judge import OUTCOMES as ON_TURNS
    from reverie.llm.language_model import OUTCOMES

    if not values["model"]:
        yield OFFLINE if configured else NO_MODEL
        for offer in values["offers"]:
            yield f'Found {offer["found"]}; to use it: llm = "{offer["llm"]}"'
        return
    of_tokens = f" of {values['tokens_per_day']:,}" if values["tokens_per_day"] else ", no limit"
    of_dollars = (
        f" of ${values['dollars_per_day']:.2f}" if values["dollars_per_day"] else ", no limit"
    )
    unknown = (
        f"; {values['unpriced']} calls without a known price (llm_price_in, llm_price_out)"
        if values["unpriced"]
        else ""
    )
    check = values.get("check", {})
    yield from memory_view.render_facts(
        {
            "model": values["model"],
            "day": f"{values['date']} (UTC)",
            "tokens": f"{values['tokens_in'] + values['tokens_out']:,}{of_tokens} "
            f"({values['tokens_in']:,} "
            f"in, {values['tokens_out']:,} out)",
            "cost": f"${values['dollars']:.4f}{of_dollars}{unknown}",
            "rests": f"for {values['rests_for']:.0f} s: {values['why']}"
            if values["rests_for"]
            else "",
            "check": " ".join(filter(None, (check.get("outcome"), check.get("why")))),
        }
    )
    meaning = {**OUTCOMES, **ON_TURNS}
    for task, outcomes in sorted(values["outcomes"].items()):
        yield ""
        yield from memory_view.render_counts(
            {f"{outcome}: {meaning.get(outcome, '')}": n for outcome, n in outcomes.items()}, task
        )
