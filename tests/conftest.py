"""What every test may use, and the order in which tests run.

A test that fails should be heard of soon, so the cheap ones run first:

| tier | what a test of it needs |
|---|---|
| 0 | nothing: values in, values out |
| 1 | a store in memory |
| 2 | files, or other processes |
| 3 | the real model, real clients of others, or more than a few seconds |

`python -m pytest` runs them all in this order, `make test` so that two cores are busy to the end: a
file to a core, and those that take longest (`LONG_FILES`) first. `make test-fast` runs tier 0 alone, within a minute, and
`python -m pytest --tier 1` those with a store in memory too. Nobody says which tier a test is in: it follows
from its fixtures and markers (`tier_of` below). So ask for `tmp_path` only where a file is what
the test is about, use `mind` rather than `home` where a store in memory will do, and mark what takes
more than a few seconds as `slow`. Within a tier, tests stay in the order in which they are written.

What starts a process, and what is marked `e2e`, is tried once more when it fails, where
pytest-rerunfailures is there: browsers, clients of others and the scheduler of a busy machine are
not ours. The summary names what passed only then. Nothing else is ever tried again: a test that
fails sometimes by itself is a bug.

No test sees or touches the memory of whoever runs it, and none needs the network but the first one
that asks for the model.
"""

import os
import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from reverie import retrieval
from reverie.interfaces.frameworks import agent_loop
from reverie.testing import Clock, memory

# Fixtures are found by being here.
from tests.support.postgres import (  # noqa: F401
    citus_cluster,
    citus_database,
    citus_folder,
    citus_url,
    plan_reader,
    postgres_folder,
    postgres_server,
    postgres_url,
    spread_database,
)

# Every write of a memory waits for the disk, which is what a test of it would mostly do. Where there is
# room in RAM, files of the tests lie there; a `TMPDIR` of one's own, or `--basetemp`, holds instead.
RAM_FOLDER, ROOM_IN_RAM = "/dev/shm", 6_000_000_000


def has_room_in_ram():
    """True if a folder in RAM takes programs too, and has the room that the tests may need."""
    try:
        state = os.statvfs(RAM_FOLDER)
    except (OSError, AttributeError):
        return False
    takes_programs = not state.f_flag & os.ST_NOEXEC and os.access(RAM_FOLDER, os.W_OK)
    return takes_programs and state.f_bavail * state.f_frsize > ROOM_IN_RAM


if "TMPDIR" not in os.environ and has_room_in_ram():
    os.environ["TMPDIR"] = tempfile.tempdir = RAM_FOLDER


# The files that take longest, the longest first: minutes to a quarter of one, on two idle cores
# (`--durations`). A file too many or too few costs seconds of the whole, not the result.
LONG_FILES = (
    "interfaces/test_hosts_e2e.py",
    "interfaces/web/test_web_every_page.py",
    "storage/test_crashes.py",
    "runtime/test_state_machine.py",
    "storage/test_postgres_isolation.py",
    "docs/test_docs.py",
    "docs/test_server_guide.py",
    "interfaces/test_mcp_start.py",
    "interfaces/test_sessions_e2e.py",
    "interfaces/test_doctor.py",
    "interfaces/server/test_faults.py",
    "interfaces/server/test_server_processes.py",
    "storage/test_citus.py",
    "storage/test_store_contract.py",
    "interfaces/test_hook_processes.py",
    "interfaces/test_mcp.py",
    "interfaces/test_cli_processes.py",
    "consolidation/test_sleep.py",
    "sync/test_sync_faults.py",
    "interfaces/web/test_web_browser_actions.py",
    "interfaces/test_install.py",
    "interfaces/test_cli_replay.py",
    "interfaces/server/test_team_pages_browser.py",
    "interfaces/web/test_web_in_step.py",
    "mirror/test_mirror_properties.py",
    "privacy/test_not_remembered.py",
    "interfaces/test_cli.py",
    "storage/test_postgres.py",
    "storage/test_damage_and_limits.py",
    "erasure/test_kills.py",
    "interfaces/server/test_server_worker.py",
    "runtime/test_many_processes.py",
    "interfaces/test_past_learning.py",
    "sync/test_sealed_devices.py",
    "interfaces/test_cli_sandbox.py",
    "test_architecture.py",
    "interfaces/server/test_restore_drill.py",
    "privacy/test_expression_time.py",
    "activity/test_log_analysis.py",
    "runtime/test_companion.py",
    "runtime/test_new_kind.py",
    "sync/test_sync_properties.py",
    "erasure/test_erasure_machine.py",
    "interfaces/test_frameworks.py",
)
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
# As `make torture` asks for: other ones by its seed, a fifth as many as kills in each round.
settings.register_profile(
    "torture",
    settings.get_profile("long"),
    max_examples=max(5, int(os.environ.get("REVERIE_TORTURE", "100")) // 5),
)
settings.load_profile(os.environ.get("REVERIE_HYPOTHESIS", "reverie"))


# What Python's runtime tells of each process that is started, in whatever way.
PROCESS_EVENTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"})
processes_started = 0


def count_process(event, _arguments):
    """Notice that this process starts another; heard for all that the runtime does."""
    global processes_started
    if event in PROCESS_EVENTS:
        processes_started += 1


sys.addaudithook(count_process)


def pytest_addoption(parser):
    parser.addoption(
        "--tier", type=int, default=3, choices=range(4), help="run the tests up to this tier"
    )


def pytest_configure(config):
    """Files go to the cores in our order: by themselves those with the fewest tests, which are the
    slowest, would come last, and one core would wait for the other.
    """
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Cheap tests first, but long files before all where there are several cores; those beyond
    `--tier` not at all.
    """
    most = config.getoption("--tier")
    tiers = {item: tier_of(item) for item in items}
    config.hook.pytest_deselected(items=[item for item in items if tiers[item] > most])
    items[:] = sorted((item for item in items if tiers[item] <= most), key=tiers.__getitem__)
    if "PYTEST_XDIST_WORKER" in os.environ:
        places = {name: place for place, name in enumerate(LONG_FILES)}
        folder = Path(__file__).parent
        items.sort(key=lambda item: places.get(str(item.path.relative_to(folder)), len(places)))
    if config.pluginmanager.hasplugin("rerunfailures"):
        for item in items:
            again = pytest.mark.flaky(reruns=1, condition=partial(may_be_tried_again, item))
            item.add_marker(again)


processes_before = pytest.StashKey[int]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """From here on a process that is started is one of this test."""
    item.stash[processes_before] = processes_started


def may_be_tried_again(item):
    """True for a test that failed beside others: it is marked `e2e`, or has started a process."""
    begun = item.stash.get(processes_before, processes_started)
    return item.get_closest_marker("e2e") is not None or processes_started > begun


def tier_of(item):
    """What a test needs, from 0 (nothing) to 3 (a model, a client of others, patience)."""
    uses = {*item.fixturenames, *vars(item.module)}
    if "model_cache" in uses or any(map(item.get_closest_marker, ("slow", "model", "e2e"))):
        return 3
    if uses & {"tmp_path", "tmp_path_factory", "subprocess"}:
        return 2
    return 1 if uses & {"mind", "memory"} else 0


@pytest.fixture(autouse=True)
def isolated_environment(monkeypatch, request):
    """No test sees or touches the memory of whoever runs it."""
    # Asked for here and not as an argument: a test with a folder of its own is in another tier.
    folder = request.getfixturevalue("tmp_path_factory").getbasetemp()
    monkeypatch.setenv("REVERIE_HOME", str(folder / "home"))
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
        "REVERIE_PASSPHRASE",
        "XDG_RUNTIME_DIR",
    ):
        monkeypatch.delenv(name, raising=False)
    # Where a busy machine has these times pass before anything is done, nothing is found.
    monkeypatch.setattr(retrieval, "TOOL_WARNING_SECONDS", 10.0)
    monkeypatch.setattr(agent_loop, "OPEN_SECONDS", 60.0)


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
