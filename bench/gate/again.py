"""What memory gives when nothing new was asked: after the agent's answer, and when the same is asked
again. `python -m bench.gate.again`

    python -m bench.gate.again [--data PATH] [--cache PATH] [--held-out]

Every turn of the labelled sessions that needs something is asked of a real `Companion`, in a
session of its own. 45 seconds later the agent answers (`heed`), and the block that then waits is
taken; it should be the one that waited before. Ten minutes later the same words are asked once
more: what was told is known, so whatever comes now and is not needed is noise. Last: how far
down what is needed stands when the same is asked of `recall`.
"""

import argparse

from bench.common import save, table
from bench.gate import sessions
from bench.gate.cases import NOW, Case, Place, desk_place
from bench.retrieval import data, stores
from reverie.context_window import EMPTY_BLOCK, Block
from reverie.core.kinds import EXPLICIT_KINDS, KINDS
from reverie.core.model import SAID
from reverie.embedding import Embedder
from reverie.runtime.companion import Companion

KEPT = [kind for kind in KINDS if kind not in (*EXPLICIT_KINDS, SAID)]
HEAD = (
    "questions",
    "with the right one, at once",
    "after the answer",
    "lost to the answer",
    "noise with it",
    "noise when asked again",
    "questions with such noise",
    "recall: among the first 1",
    "first 3",
    "first 5",
    "first 10",
)


def waiting(companion: Companion) -> Block:
    """The block that waits for the next turn."""
    companion.wait(60)
    return next(iter(companion.conversation.slot), EMPTY_BLOCK)


def kept_ids(block: Block) -> set[str]:
    """The memories in a block; what sessions before said is measured in `bench.transcripts`."""
    return {memory.id for memory in block.memories if memory.provenance != SAID}


def asked_twice(place: Place, case: Case, at: float) -> tuple[Block, Block, Block]:
    """The block that waits after a question, what is given after the answer, and when it is asked
    again.
    """
    space = f"{place.space}/{case.id}"
    with place.mind.companion(space) as companion:
        talk = [{"role": "user", "content": case.window[-1].text}]
        companion.heed(talk, now=at)
        at_once = waiting(companion)
        talk += [{"role": "assistant", "content": "I am looking at it."}]
        companion.heed(talk, now=at + 45)
        waiting(companion)
        # The first turn would search by words what was searched already.
        companion._is_first_turn = False
        given = companion.turn(talk, now=at + 60)
        waiting(companion)
        talk += [{"role": "user", "content": case.window[-1].text}]
        companion.heed(talk, now=at + 660)
        again = waiting(companion)
    return at_once, given, again


def measure(place: Place) -> dict[str, float]:
    """The counts of one store."""
    counts = dict.fromkeys(HEAD, 0.0)
    for number, case in enumerate(place.cases):
        if case.group != "sessions" or not case.needs:
            continue
        at_once, given, again = asked_twice(place, case, NOW + 3_600 * number)
        before, after = case.needs & set(at_once.ids), case.needs & set(given.ids)
        noise = kept_ids(again) - case.needs
        counts["questions"] += 1
        counts["with the right one, at once"] += bool(before)
        counts["after the answer"] += bool(after)
        counts["lost to the answer"] += bool(before - after)
        counts["noise with it"] += len(kept_ids(given) - case.needs)
        counts["noise when asked again"] += len(noise)
        counts["questions with such noise"] += bool(noise)
        recalled = place.mind.recall(case.window[-1].text, space=place.space, kinds=KEPT)
        ids = [hit.memory.id for hit in recalled]
        for name, most in zip(HEAD[-4:], (1, 3, 5, 10), strict=True):
            counts[name] += bool(case.needs & set(ids[:most]))
    return counts


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--held-out", action="store_true", help="the other stores")
    args = data.arguments(parser)
    embedder: Embedder = stores.remembering(args.cache.absolute())
    total = dict.fromkeys(HEAD, 0.0)
    for desk in sessions.desks():
        if (desk.name in sessions.held_out()) != args.held_out:
            continue
        with desk_place(desk, embedder, args.cache.absolute(), args.data) as place:
            for name, count in measure(place).items():
                total[name] += count
    table([[int(total[name]) for name in HEAD]], HEAD)
    print(save("gate-again-held-out" if args.held_out else "gate-again", total))


if __name__ == "__main__":
    main()
