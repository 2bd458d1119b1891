"""Every benchmark, one after the other: `python -m bench`, or `make bench`. Results are files in
bench/results.
"""

import subprocess
import sys

SUITES = (
    "bench.latency",
    "bench.scale",
    "bench.transcripts.scale",
    "bench.transcripts.unseen",
    "bench.retrieval.run",
    "bench.transfer",
    "bench.ablation",
    "bench.gate",
    "bench.gate.again",
    "bench.gate.models",
    "bench.uses",
    "bench.privacy",
    "bench.privacy.about_people",
    "bench.untrusted",
    "bench.guards",
    "bench.reconcile",
    "bench.reconcile.news",
    "bench.reconcile.retire",
    "bench.reconcile.review",
    "bench.cascade",
    "bench.extraction",
    "bench.appraisal",
    "bench.sleep",
    "bench.mirror",
    "bench.files",
    "bench.llm",
    "bench.window",
    "bench.window.reads",
    "bench.condense",
    "bench.errors",
    "bench.cards",
    "bench.experience",
    "bench.analytics",
    "bench.replay.hooked",
    "bench.code",
    "bench.code_large",
    "bench.similar",
    "bench.anchors",
    "bench.purge",
    "bench.at_rest",
    "bench.imports",
    "bench.device_sync",
    "bench.hooks",
    "bench.web",
    "bench.mcp",
)


def main() -> int:
    """Each in a process of its own, so that none disturbs the next; the first failure ends it."""
    cache = sys.argv[1:]
    takes_cache = {
        "bench.latency",
        "bench.retrieval.run",
        "bench.transfer",
        "bench.ablation",
        "bench.gate",
        "bench.gate.again",
        "bench.gate.models",
        "bench.reconcile",
        "bench.reconcile.news",
        "bench.reconcile.retire",
        "bench.reconcile.review",
        "bench.cascade",
        "bench.llm",
        "bench.files",
        "bench.window",
        "bench.window.reads",
        "bench.condense",
        "bench.similar",
        "bench.transcripts.unseen",
    }
    for suite in SUITES:
        print(f"\n== {suite}", flush=True)
        command = [sys.executable, "-m", suite, *(cache if suite in takes_cache else [])]
        if code := subprocess.run(command, check=False).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
