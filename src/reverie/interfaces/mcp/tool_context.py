"""What every tool works with: one memory, opened when it is first needed, seen from one space, in
one conversation.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reverie
from reverie.core import clock, config, environment
from reverie.core.authorship import Author
from reverie.core.config import ME, Settings
from reverie.core.errors import BadInput, NotFound, ReverieError
from reverie.core.model import Memory, visible_spaces
from reverie.interfaces.hooks.spool import HookFiles, read_json_object
from reverie.privacy.redacted_text import redact_short_text

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from reverie import Mind
    from reverie.embedding import Embedder
    from reverie.extraction.provenance_check import Claim

# seconds that the first tool waits for the embedding model; loading it takes half of that
WARMUP_SECONDS = 1.5
MODEL_RETRY_SECONDS = (
    300.0  # seconds after which a model that could not be had is tried for once more
)
READ_FILE_SECONDS = (
    86_400.0  # seconds within which a file that was read may have told a model what to remember
)
MAX_READ_FILES, MAX_FILE_CHARS = 20, 100_000  # such files, and characters of one
MAX_NAME_CHARS = 100  # characters of a client's or a model's name
PROVIDERS = {
    "claude": "anthropic",
    "gpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "gemini": "google",
}
"""The first part of a model's name → who provides it, where that is plain."""
MAX_QUESTION_CHARS = 1_200  # characters of what was said last that are searched for
IS_USER_SCOPE = {
    "project": False,
    "user": True,
    "global": True,
    "universal": True,
}  # names of scopes → the user's own space


class ToolContext:
    """A memory for the tools of one server. Tools run in threads, several at once."""

    def __init__(self, settings: Settings, space: str) -> None:
        self.space = space
        self._settings, self._settings_changed_at = settings, config.config_modified_at(settings)
        self.session = clock.new_id("mcp")
        self._lock = threading.Lock()
        self._warmup: EmbedderWarmup | None = None

    @cached_property
    def _mind(self) -> Mind:
        mind = reverie.open(settings=self._settings)
        if mind.shares(
            space=self.space
        ):  # somebody may have pulled: what is new there is taken in meanwhile
            self._spawn_worker(mind)
        return mind

    @property
    def settings(self) -> Settings:
        """The settings. What somebody switches off or on meanwhile is so here at once: a server
        runs for days.
        """
        changed = config.config_modified_at(self._settings)
        if changed != self._settings_changed_at:
            self._settings_changed_at = changed
            with suppress(BadInput):  # somebody is writing it by hand: what was chosen before holds
                self._settings = config.reload_switches(self._settings)
        if (
            environment.host_session() in self._settings.off_sessions
        ):  # of the conversation whose host has started this
            return self._settings._replace(enabled=False)
        return self._settings

    @property
    def mind(self) -> Mind:
        """The memory; the first who asks opens it."""
        with self._lock:
            self._mind.settings = self.settings
            return self._mind

    @property
    def spaces(self) -> tuple[str, ...]:
        """What can be seen from here, nearest first."""
        return visible_spaces(self.space)

    @cached_property
    def zone(self) -> str:
        """The time zone in which times are meant that name none."""
        return config.local_time_zone(self.settings)

    def list_redactions(self, *given: Any) -> list[str]:
        """The kinds of secrets, and of what the policy masks, in what a tool was told to keep: they
        were taken out, and it says so, never what they were.
        """
        from reverie.memory.memory_validation import redaction_kinds, to_clean_json
        from reverie.privacy import redact_value

        return redaction_kinds(redact_value(to_clean_json(given), self.mind.work.policy)[1])

    def last_user_words(self) -> str:
        """What the user said last in this space, as far as a host told it; "" if none did."""
        past = self.mind.sessions(space=self.space, limit=1)
        lines = self.mind.session(past[0].session, space=self.space).lines if past else ()
        return next(
            (
                line.text[:MAX_QUESTION_CHARS]
                for line in reversed(lines)
                if line.role == "user" and line.text.strip()
            ),
            "",
        )

    def space_of(self, scope: str, allowed: Sequence[str]) -> str:
        """The space of a scope. One that is not allowed is refused: nothing is widened or narrowed
        silently (CC-84).
        """
        if scope not in allowed:
            raise BadInput(f"{scope!r} is no scope; there are {', '.join(allowed)}")
        return ME if IS_USER_SCOPE[scope] else self.space

    def scope_of(self, memory: Memory, narrow: str, wide: str) -> str:
        """What a tool set calls the scope of a memory."""
        return wide if memory.space == ME else narrow

    def get_visible(self, ids: Sequence[str]) -> list[Memory]:
        """Memories by id, as far as they can be seen from here; NotFound for others, whether they
        exist or not (CC-11).
        """
        self.settings.check_on(self.space)
        found = {memory.id: memory for memory in self.mind.get(ids) if memory.space in self.spaces}
        if missing := [id for id in ids if id not in found]:
            raise NotFound(f"There is no memory with the id {', '.join(missing)}")
        return [found[id] for id in dict.fromkeys(ids)]

    def session_of(self, ctx: Context | None) -> str:
        """The conversation that a request belongs to: of this process, or, over HTTP, of its
        session; "" for none.
        """
        headers = ctx.headers if ctx else None
        if headers is None:
            return self.session
        name = headers.get("mcp-session-id", "")
        return f"{self.session}-{name}" if name else ""

    def search_mode(self) -> str:
        """How to search now: "auto" where vectors can be had, "words" while the model is fetched or
        loaded.
        """
        embedder = self.mind.embedder
        if embedder is None:
            return "words"
        with self._lock:
            if self._warmup is None or self._warmup.may_retry:
                self._warmup = EmbedderWarmup(embedder)
        return "auto" if self._warmup.is_ready() else "words"

    def vouch(self, text: str, kind: str = "fact", ctx: Context | None = None) -> Claim:
        """Who stands behind what a model asks to keep here, and who writes it: also by prompts that
        no worker has taken in yet, and by files that were read.
        """
        claim = self.mind.vouch(
            text,
            kind,
            space=self.space,
            said=self._spooled_prompts(),
            heard=self._recently_read_files(),
        )
        return claim._replace(author=self.author_of(ctx))

    def author_of(self, ctx: Context | None) -> Author:
        """Who calls: the client as it names itself, and its model where hooks of the same host have
        told of it (X37).
        """
        params, policy = ctx.session.client_params if ctx else None, self.settings.policy
        client = (
            redact_short_text(params.client_info.name, policy)[:MAX_NAME_CHARS] if params else ""
        )
        from reverie.interfaces.hooks.speaking_model import find_speaking_model

        model = find_speaking_model(HookFiles(str(self.settings.home)), client, self.space)
        return Author(
            client,
            redact_short_text(model, policy)[:MAX_NAME_CHARS],
            PROVIDERS.get(model.partition("-")[0], ""),
        )

    def _spooled_prompts(self) -> list[str]:
        """What the user said and hooks have written down, as far as nobody has taken it in."""
        from reverie.interfaces.hooks.hook_event import PROMPT

        events = [
            event
            for path in HookFiles(str(self.settings.home)).waiting()[-MAX_READ_FILES:]
            if (event := read_json_object(path))
        ]
        return [
            str(event.get("text", ""))
            for event in events
            if event.get("kind") == PROMPT and event.get("space") == self.space
        ]

    def _recently_read_files(self) -> list[str]:
        """The beginnings of the files that were read here lately, as far as they can be found."""
        root = config.find_work_tree(config.working_directory())
        if config.project_space_of(root) != self.space:
            return []
        since = clock.now() - READ_FILE_SECONDS
        touched = self.mind.deeds(
            verbs=("file",), space=self.space, since=since, limit=MAX_READ_FILES
        )
        found = []
        for path in {
            str(one.payload.get("path", ""))
            for one in touched
            if one.payload.get("operation") == "read"
        }:
            with suppress(OSError, ValueError):
                if (place := Path(root, path)).is_file():
                    with place.open(encoding="utf-8", errors="replace") as file:
                        found.append(file.read(MAX_FILE_CHARS))
        return found

    def request_settling(self) -> None:
        """Something was written: have it settled."""
        self._spawn_worker(self.mind)

    def _spawn_worker(self, mind: Mind) -> None:
        """By whoever is at it, or by a worker of its own; nobody waits for that."""
        from reverie.interfaces import worker

        with suppress(ReverieError, OSError):  # then it waits for the next one who settles
            worker.spawn_worker(self.settings, mind.store)

    def close(self) -> None:
        """Let go of the memory, if it was opened."""
        with self._lock:
            if "_mind" in vars(self):
                self._mind.close()


class EmbedderWarmup:
    """An embedder made ready in the background, which may mean to fetch its model."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder, self._able, self._begun = embedder, False, clock.ticks()
        self._done = threading.Event()
        threading.Thread(target=self._warm, name="reverie-warm", daemon=True).start()

    def _warm(self) -> None:
        with suppress(
            ReverieError, OSError
        ):  # there is no model, and it cannot be fetched: words must do
            self._embedder.embed(["warm"])
            self._able = True
        self._done.set()

    def is_ready(self) -> bool:
        """Whether it is ready. Who comes first waits for it, but not longer than PATIENCE; nobody
        waits after that.
        """
        return (
            self._done.wait(max(0.0, self._begun + WARMUP_SECONDS - clock.ticks())) and self._able
        )

    @property
    def may_retry(self) -> bool:
        """Whether it could not be had, a while ago."""
        return (
            self._done.is_set()
            and not self._able
            and clock.ticks() - self._begun > MODEL_RETRY_SECONDS
        )
