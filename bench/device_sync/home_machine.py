"""The histories of real homes as state machines that hypothesis makes up and makes shorter."""

import random
from typing import ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from bench.device_sync.real_homes import FOLDER, GIT, HOMES, SERVER, TAGS, ThreeHomes
from bench.device_sync.team_server import TeamServer, run_team_server
from reverie.core.clock import ticks

STEPS = 35
WHICH, NUMBER, CHANCE = st.integers(0, 2), st.integers(0, 3), st.integers(0, 10_000)


class HomesByFolder(RuleBasedStateMachine):
    """Three homes with copies of a folder."""

    KIND = FOLDER
    server: ClassVar[TeamServer | None] = None
    # How many were run to their end, kills and texts with two versions, of all runs together.
    told: ClassVar[dict[str, int]] = {"histories": 0, "kills": 0, "both_sided": 0}

    def __init__(self) -> None:
        super().__init__()
        self.homes = ThreeHomes(self.KIND, self.server)

    @rule(which=WHICH)
    def remember(self, which: int) -> None:
        self.homes.remember(which)

    @rule(which=WHICH, number=NUMBER)
    def revise(self, which: int, number: int) -> None:
        self.homes.revise(which, number)

    @rule(number=NUMBER)
    def revise_on_two(self, number: int) -> None:
        """The same memory, neither knowing the other, if it is on both."""
        self.homes.revise(0, number)
        self.homes.revise(1, number)

    @rule(which=WHICH, number=NUMBER, tag=st.sampled_from(TAGS))
    def tag(self, which: int, number: int, tag: str) -> None:
        self.homes.tag(which, number, tag)

    @rule(which=WHICH, number=NUMBER)
    def forget_or_restore(self, which: int, number: int) -> None:
        self.homes.forget_or_restore(which, number)

    @rule(which=WHICH, number=NUMBER, other=NUMBER)
    def link(self, which: int, number: int, other: int) -> None:
        self.homes.link(which, number, other)

    @rule(which=WHICH, number=NUMBER, luck=NUMBER)
    def purge(self, which: int, number: int, luck: int) -> None:
        if luck == 0:
            self.homes.purge(which, number)

    @rule(which=WHICH)
    def sync(self, which: int) -> None:
        self.homes.sync(which)

    @rule(which=WHICH, calls=st.integers(0, 12))
    def sync_and_die(self, which: int, calls: int) -> None:
        self.homes.sync_and_die(which, calls)

    @rule(which=WHICH)
    def compact(self, which: int) -> None:
        self.homes.compact(which)

    @rule()
    def meet(self) -> None:
        self.homes.meet()

    @rule(which=WHICH)
    def part_or_join(self, which: int) -> None:
        """A place is out of reach from now on, or in reach again."""
        self.homes.cut ^= {which}

    @rule(which=WHICH, hours=st.sampled_from([-30, 1, 700]))
    def set_clock(self, which: int, hours: int) -> None:
        self.homes.clocks[which].tick(minutes=hours * 60)

    @rule(start=WHICH, end=WHICH, seed=CHANCE)
    def carry(self, start: int, end: int, seed: int) -> None:
        self.homes.carry(start, end, random.Random(seed))

    @rule(which=WHICH, seed=CHANCE)
    def replay(self, which: int, seed: int) -> None:
        self.homes.replay(which, random.Random(seed))

    @rule(which=WHICH, seed=CHANCE)
    def roll_back(self, which: int, seed: int) -> None:
        self.homes.roll_back(which, random.Random(seed))

    @rule(which=WHICH, seed=CHANCE)
    def damage(self, which: int, seed: int) -> None:
        self.homes.damage(which, random.Random(seed))

    def teardown(self) -> None:
        """Heal and check."""
        self.homes.end()
        self.told["histories"] += 1
        self.told["kills"] += self.homes.kills
        self.told["both_sided"] += self.homes.both_sided


class HomesByGit(HomesByFolder):
    """Three homes with a git remote."""

    KIND = GIT
    told: ClassVar[dict[str, int]] = {"histories": 0, "kills": 0, "both_sided": 0}


class HomesByServer(HomesByFolder):
    """Three homes, sealed and paired, with a team's server that keeps their files."""

    KIND = SERVER
    told: ClassVar[dict[str, int]] = {"histories": 0, "kills": 0, "both_sided": 0}


def run_real_homes(seconds: float) -> dict[str, int]:
    """Run as many histories of real homes as fit into so many seconds: most by a folder, some by
    git, some with processes that are killed. What they came to; AssertionError, with the steps,
    for one that does not hold.
    """
    end = ticks() + seconds
    processes = kills = 0
    while ticks() < end:
        run_histories_of(HomesByFolder, 12)
        run_histories_of(HomesByGit, 2)
        kills += run_killed_processes(FOLDER if processes % 2 == 0 else GIT, processes)
        processes += 1
    folder, git = HomesByFolder.told, HomesByGit.told
    return {
        "histories_by_folder": folder["histories"],
        "histories_by_git": git["histories"],
        "histories_of_processes": processes,
        "kills_between_writes": folder["kills"] + git["kills"],
        "kills_of_processes": kills,
        "both_sided": folder["both_sided"] + git["both_sided"],
    }


def run_homes_by_server(seconds: float) -> dict[str, int]:
    """The same of homes that are sealed, paired, and in step through a team's server."""
    end = ticks() + seconds
    processes = kills = 0
    with run_team_server() as server:
        HomesByServer.server = server
        while ticks() < end:
            run_histories_of(HomesByServer, 2)
            kills += run_killed_processes(SERVER, processes, server)
            processes += 1
    told = HomesByServer.told
    return {
        "histories_by_server": told["histories"],
        "histories_of_processes_by_server": processes,
        "kills_between_requests": told["kills"],
        "kills_of_processes_by_server": kills,
    }


def run_histories_of(machine: type[HomesByFolder], count: int) -> None:
    """Run so many histories by one carrier."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=count,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def run_killed_processes(kind: str, seed: int, server: TeamServer | None = None) -> int:
    """A history in which each home is a process that keeps and syncs until `kill -9`, while the
    others are in step and revise what it told; how many were killed.
    """
    chance, homes = random.Random(seed), ThreeHomes(kind, server)
    for which in range(HOMES):
        homes.kill_process(which, chance.randrange(200))
        homes.revise(which, 0)
        homes.carry(which, (which + 1) % HOMES, chance)
        homes.revise((which + 1) % HOMES, 0)
        homes.meet()
    homes.end()
    return homes.kills
