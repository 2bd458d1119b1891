"""The answer to a plan: files and symbols first, each with why; then what is known of the like. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from reverie.plan import Ranked
from reverie.plan.past import Done
from reverie.plan.why import day, why

if TYPE_CHECKING:
    from reverie.lifecycle.experience.remedies import Suggestion
    from reverie.lifecycle.experience.together import Together
    from reverie.model import Hit

PER_TOKEN = 4            # characters, roughly
LIKELY = 0.5             # of the likeliest past task: what is less alike is not told
MOST_PAST = 5


class Part(NamedTuple):
    """A function, method or class that a task may be about."""

    symbol: str              # its qualified name; empty: lines of the file itself
    first: int               # lines, from 1, both included
    last: int


class Look(NamedTuple):
    """A file to look at."""

    path: str                # from the root of its repository
    likely: float            # 0..1: the share of this file among all
    parts: tuple[Part, ...]
    why: tuple[str, ...]


class Plan(NamedTuple):
    """What to look at for a task, and what is known of the like. All lists are best first."""

    task: str
    root: str                                   # of the repository
    files: tuple[Look, ...] = ()
    past: tuple[Done, ...] = ()                 # past tasks like this one
    together: tuple[Together, ...] = ()         # files that change with the likeliest, and are not among `files`
    fixes: tuple[Suggestion, ...] = ()          # what once made an error go away that the task tells of
    memories: tuple[Hit, ...] = ()              # about the task or those files

    @property
    def text(self) -> str:
        """The plan for a model to read."""
        return "\n".join(lines(self))

    def within(self, tokens: int) -> Plan:
        """As much of it as fits; the likeliest file stays."""
        return shortened(self, tokens * PER_TOKEN)


def looks(found: Ranked, parts: dict[str, tuple[Part, ...]], most: int) -> tuple[Look, ...]:
    """The likeliest files."""
    return tuple(Look(found.tree.paths[place], float(found.likely[place]), parts.get(found.tree.paths[place], ()),
                      why(found, place)) for place in found.best(most))


def like(found: Ranked, most: int = MOST_PAST) -> tuple[Done, ...]:
    """The past tasks most like this one, by their words and, where that is known, by meaning."""
    past = found.past
    if not len(past):
        return ()
    scores = past.texts.bm25(found.task.terms)
    scores = scores / max(float(scores.max()), 1e-9)
    for place, one in enumerate(past.done):
        scores[place] += (found.meant.tasks or {}).get(one.key, 0.0)
    order = sorted(range(len(past)), key=lambda place: (-scores[place], -past.done[place].at))[:most]
    floor = LIKELY * max(scores[order[0]], 1e-9)
    return tuple(past.done[place] for place in order if scores[place] >= floor)


def lines(plan: Plan) -> Iterator[str]:
    """The plan in lines."""
    if plan.files:
        yield "Look at, likeliest first:"
    for look in plan.files:
        yield f"- {look.path}" + "".join(f"{', ' if n else ': '}{named(part)}" for n, part in enumerate(look.parts))
        if look.why:
            yield f"  {'; '.join(look.why)}"
    if plan.past:
        yield "Done before:"
    for one in plan.past:
        title = one.text.partition("\n")[0]
        yield f"- {day(one.at)} {title} ({', '.join(one.files[:5])}{', …' if len(one.files) > 5 else ''})"
    if plan.together:
        yield "Often changed with them:"
    for other in plan.together:
        yield f"- {other.path} ({other.occasions} times)"
    if plan.fixes:
        yield "This error was met before:"
    for fix in plan.fixes:
        yield f"- {fix.memory.text.partition(chr(10))[0]} ({fix.why})"
    if plan.memories:
        yield "Remembered:"
    for hit in plan.memories:
        yield f"- {' '.join(hit.memory.text.split())}"


def named(part: Part) -> str:
    """A part with its lines."""
    return f"{part.symbol} {part.first}–{part.last}".lstrip()


def shortened(plan: Plan, most: int) -> Plan:
    """A plan of at most so many characters: the least of its lists go first, then files from the end."""
    for part in ("together", "past", "memories", "fixes", "files"):
        while len(plan.text) > most and len(getattr(plan, part)) > (part == "files"):
            plan = plan._replace(**{part: getattr(plan, part)[:-1]})
    return plan
