"""`python -m bench.replay`: how many calls of tools a scripted agent saves when it opens the plan's
files first.

    python -m bench.replay [--runner PATH] [--data PATH] [--set owner/name] [--count N] [--words]
    python -m bench.replay --git PATH          # any repository of your own, from its own history

The runner and its README are not part of this project; it plays each commit as a task, with
everything that happened before it and nothing after. Its answer has every single layer and their
plain fusions as baselines. The shipped coefficients were learned from the six repositories of its
data: what they are worth elsewhere says `python -m bench.replay.train`, which leaves out the
repository that it asks about.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from bench.replay.runner import load_runner


def main() -> int:
    """See the module."""
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--runner", type=Path, default=Path("../shared/replay-bench"))
    asked.add_argument("--data", type=Path, default=Path("../shared/bench-data/replay"))
    asked.add_argument("--set", default="")
    asked.add_argument("--count", type=int, default=150)
    asked.add_argument("--words", action="store_true", help="without a model")
    asked.add_argument("--git", type=Path, help="a git repository of your own")
    asked.add_argument("--out", default="")
    options = asked.parse_args()
    runner = load_runner(options.runner)
    if runner is None:
        return 2
    adapter = f"bench.replay.adapter:{'Words' if options.words else 'Reverie'}"
    told = [
        "adapter",
        "--adapter",
        adapter,
        "--count",
        str(options.count),
        "--out",
        options.out,
        "--no-dense",
    ]
    with tempfile.TemporaryDirectory() as folder:
        if options.git:
            name = f"own/{options.git.resolve().name}"
            place = Path(folder, name.replace("/", "+"))
            place.mkdir()
            (place / "repo").symlink_to(options.git.resolve())
            told += ["--set", name, "--mirror", folder]
        else:
            told += ["--data", str(options.data), "--set", options.set]
        runner.run.main(told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
