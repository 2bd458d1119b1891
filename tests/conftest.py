"""What every test may use: a clock that stands still and a mind of its own."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from reverie.testing import Clock, memory

# The same examples every time: a test that fails only sometimes is a bug of the test.
settings.register_profile(
    "reverie",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
# Other ones each time, ten times as many: REVERIE_HYPOTHESIS=long. What fails is printed and can be
# repeated.
settings.register_profile(
    "long", settings.get_profile("reverie"), derandomize=False, max_examples=1_000, print_blob=True
)
settings.load_profile("long" if os.environ.get("REVERIE_HYPOTHESIS") == "long" else "reverie")


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path_factory):
    """No test sees or touches the memory of whoever runs it."""
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path_factory.getbasetemp() / "home"))
    for name in (
        "REVERIE_SANDBOX",
        "REVERIE_OFF",
        "REVERIE_OFFLINE",
        "REVERIE_EMBEDDER",
        "REVERIE_API_KEY",
        "REVERIE_LLM",
        "REVERIE_LLM_KEY",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
    ):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory):
    """A cache folder with the real model in it, fetched the way that users fetch it."""
    from reverie.embedding import model_weights

    kept = os.environ.get("REVERIE_TEST_CACHE")
    cache = Path(kept) if kept else tmp_path_factory.mktemp("model-cache")
    model_weights.ensure_model_files(cache)
    return cache


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def mind(clock, request):
    """A mind in memory; where `pytest.mark.words_only` stands it has no embedder and knows only
    words.
    """
    with memory(
        now=clock, embedder="none" if request.node.get_closest_marker("words_only") else None
    ) as mind:
        yield mind


@pytest.fixture
def home(tmp_path, clock):
    """A mind in a folder."""
    with memory(tmp_path / "home", now=clock) as mind:
        yield mind
