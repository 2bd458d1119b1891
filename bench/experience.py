"""`python -m bench.experience`: what recording costs a tool, how long a history of 10,000 commits
takes, and asking.

Recording is compared with one durable append for each run, which is what the queue is there to
avoid. The history is made up (git fast-import: 10,000 commits, 3,000 files); `git log` alone is the
floor below which nobody can read it.
"""

import random
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.common import percentile, save, table, timed
from reverie.activity.activity_events import ToolRunRecord, make_tool_payload, shorten_payload
from reverie.activity.git_history import GIT_COMMAND, LOG_ARGUMENTS
from reverie.testing import SPACE, make_event, memory

COMMITS, FILES, RUNS = 10_000, 3_000, 500


def recording(size: int) -> dict[str, Any]:
    """Seconds that a tool waits which answers with so many characters."""
    answer = "word " * (size // 5)
    with tempfile.TemporaryDirectory() as folder, memory(folder, embedder="none") as mind:

        def queued() -> None:
            mind.record_tool("bash", {"command": "make test"}, answer, duration=1.0, space=SPACE)

        def appended() -> None:
            mind.store.append(
                [
                    make_event(
                        "tool",
                        payload=shorten_payload(
                            make_tool_payload(
                                ToolRunRecord("bash", {"command": "make test"}, answer)
                            )
                        ),
                    )
                ]
            )

        taken = [timed(queued) for _ in range(RUNS)]
        mind.context.flush()
        direct = [timed(appended) for _ in range(RUNS)]
        assert mind.activity.unrecorded == (0, "")
    return {
        "characters": size,
        "p50_us": 1e6 * percentile(taken, 0.5),
        "p95_us": 1e6 * percentile(taken, 0.95),
        "append_p50_us": 1e6 * percentile(direct, 0.5),
    }


def made_up(folder: Path) -> None:
    """A repository with a long history; neighbours among 200 files change together, others by
    chance.
    """
    rng = random.Random(1)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    with subprocess.Popen(
        ["git", "fast-import", "--quiet"], cwd=folder, stdin=subprocess.PIPE
    ) as git:
        assert git.stdin
        for n in range(COMMITS):
            message = f"{'Fix' if n % 5 == 0 else 'Add'} thing {n} in module {n % 37} for everybody".encode()
            git.stdin.write(
                b"commit refs/heads/master\ncommitter A <a@b.c> %d +0000\ndata %d\n%s\n"
                % (1_700_000_000 + n * 3_600, len(message), message)
            )
            for file in {
                n % 200,
                (n + 1) % 200,
                *(rng.randrange(FILES) for _ in range(rng.randrange(1, 6))),
            }:
                body = "".join(f"line {rng.randrange(50)} {file}\n" for _ in range(60)).encode()
                git.stdin.write(
                    b"M 100644 inline src/m%d/f%d.py\ndata %d\n%s\n"
                    % (file % 37, file, len(body), body)
                )


def history() -> dict[str, Any]:
    """Seconds to take in a history, to find nothing new, and to ask about a file."""
    with (
        tempfile.TemporaryDirectory() as folder,
        memory(Path(folder, "home"), now=time.time, embedder="none") as mind,
    ):
        repository = Path(folder, "repository")
        made_up(repository)
        alone = timed(
            lambda: subprocess.run(
                [*GIT_COMMAND, *LOG_ARGUMENTS, "HEAD", "--"],
                cwd=repository,
                check=True,
                capture_output=True,
            )
        )
        took = timed(lambda: mind.activity.learn_git(repository, space=SPACE))
        again = timed(lambda: mind.activity.learn_git(repository, space=SPACE))
        asks: dict[str, Callable[[], object]] = {
            "coedited_s": lambda: mind.activity.coedited("src/m5/f5.py", space=SPACE),
            "deeds_s": lambda: mind.activity.events(["module"], space=SPACE),
            "fix_s": lambda: mind.activity.suggest_fix("KeyError: 'x'", space=SPACE),
        }
        return {
            "commits": COMMITS,
            "git_alone_s": alone,
            "learn_s": took,
            "nothing_new_s": again,
            **{
                name: percentile([timed(ask) for _ in range(20)], 0.95)
                for name, ask in asks.items()
            },
        }


def main() -> None:
    """Measure, print, keep."""
    waits, learned = [recording(size) for size in (100, 10_000, 1_000_000)], history()
    table([list(one.values()) for one in waits], list(waits[0]))
    table([list(learned.values())], list(learned))
    save("experience", {"recording": waits, "history": learned})


if __name__ == "__main__":
    main()
