"""The budget: what the last results of every benchmark must keep to.

A row is a figure of a file in bench/results and the least or the most that it may be. Whoever
alters Reverie runs the benchmark that it may touch and commits its results; a figure outside its
row fails here. A row is loosened with the reason beside it, never in passing.
"""

import json
from functools import reduce
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "bench" / "results"
RECALL = ("rankings", "reverie auto", "all", "recall@10")
BUDGET = [
    ("retrieval", ("locomo", *RECALL), 0.80, 1.0),
    ("retrieval", ("beam-100k", *RECALL), 0.60, 1.0),
    ("retrieval", ("cosqa", *RECALL), 0.965, 1.0),
    ("gate", ("meaning", "sessions", "learned", "clean"), 0.90, 1.0),  # quiet turns left alone
    (
        "gate",
        ("meaning", "sessions", "learned", "surfaced"),
        0.60,
        1.0,
    ),  # needed memories that came up
    ("reconcile", ("figures", "compare", "wrongly superseded"), 0.0, 0.01),
    # what stood on something that changed, in doubt; and nothing else
    ("cascade", ("heldout", "cascade", "all"), 0.60, 1.0),
    ("cascade", ("heldout", "controls in doubt"), 0, 0),
    ("cascade", ("heldout", "besides in doubt"), 0, 0),
    ("guards", ("fresh", "met"), 25, 26),  # prohibitions that stop what they forbid
    ("guards", ("held", "wrong"), 0, 0),  # look-alikes that are stopped
    ("latency", ("turn", "p99"), 0.0, 0.001),  # seconds, 300 turns queued
    ("latency", ("flat", "growth"), 0.0, 5.0),  # MB of memory over 100,000 turns
    ("latency", ("bulk_per_second",), 5_000.0, 1e9),
    ("scale", ("sizes", -1, "dense_agreement_at_10"), 0.99, 1.0),
    ("scale", ("sizes", -1, "loaded_mb"), 0.0, 300.0),  # of 100,000 memories
    ("code", ("callers", "rich", "precision"), 0.97, 1.0),  # beside jedi, on the same calls
    ("code", ("callers", "rich", "recall"), 0.93, 1.0),
    ("code", ("speed", "mb_per_cpu_s"), 1.0, 1e9),
    ("code", ("speed", "no_change_times_faster"), 20.0, 1e9),
    ("mcp", ("ratio", "first answer"), 0.0, 2.0),  # of an empty server on the same SDK
    ("sleep", ("sizes", -1, "peak_mb"), 0.0, 1_000.0),
    ("errors", ("held out", "signature", "precision"), 0.98, 1.0),
    ("errors", ("held out", "signature", "recall"), 0.95, 1.0),
    ("errors", ("held out", "outputs"), 60, 10_000),
    ("experience", ("history", "learn_s"), 0.0, 60.0),  # 10,000 commits
    ("experience", ("recording", 2, "p95_us"), 0.0, 1_000.0),  # a tool that answers with a megabyte
    ("hooks", ("cost", "p50_of_pass"), 0.0, 3.0),  # whole processes, beside `python -c pass`
    ("hooks", ("cost", "p95_of_pass_p95"), 0.0, 5.0),
    ("hooks", ("storm", "failed"), 0, 0),  # of 1,000 hooks from 8 processes
    ("hooks", ("storm", "kept"), 1_000, 1_000),
    ("hooks", ("storm", "most_workers"), 1, 1),
    ("hooks", ("storm", "left_after"), 0, 0),
    ("device_sync", ("agreement", "histories"), 10_000, 1e9),  # all agreed, or it would have failed
    ("device_sync", ("real_homes", "histories_by_folder"), 50, 1e9),  # the same of real homes
    ("device_sync", ("speed", "first_write_seconds"), 0.0, 60.0),  # 100,000 memories
    ("device_sync", ("speed", "first_read_seconds"), 0.0, 60.0),
    ("device_sync", ("speed", "change_seconds_longest"), 0.0, 5.0),
]


@pytest.mark.parametrize(
    ("file", "figure", "least", "most"), BUDGET, ids=lambda part: str(part)[:60]
)
@pytest.mark.proves("B5")
def test_results_stay_within_the_budget(file, figure, least, most):
    """Retrieval, quiet turns, wrong superseding, waiting and memory."""
    results = json.loads((RESULTS / f"{file}.json").read_text("utf-8"))
    assert least <= reduce(lambda part, name: part[name], figure, results) <= most
