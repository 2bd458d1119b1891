"""What every tool works with: one memory, seen from one space, in one conversation.

Always true: the memory is opened when it is first needed, and no tool waits longer than
WARMUP_SECONDS for the embedding model.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import reverie
from reverie.core import clock, config, environment
from reverie.core.authorship import Author
from reverie.core.config import ME, Settings
from reverie.core.errors import BadInput, NotFound, ReverieError
from reverie.core.model import Memory, visible_spaces
from reverie.interfaces.hooks.session_secrets import (
    load_session_secrets,
    save_session_secrets,
)
from reverie.interfaces.hooks.spool import HookFiles, read_json_object
from reverie.interfaces.key_watch import KeyWatch, has_home_key
from reverie.interfaces.mcp.tool_answers import NOTE, WORDS_ALONE
from reverie.memory.short_ids import expand_id
from reverie.privacy.known_secrets import KnownSecrets
from reverie.privacy.redacted_text import redact_short_text
from reverie.runtime.span_spool import attach_spool

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from reverie import Mind
    from reverie.embedding import Embedder
    from reverie.extraction.provenance_check import Claim

Answer = TypeVar("Answer")

# That the first tool waits for the embedding model; loading it takes half of that.
WARMUP_SECONDS = 1.5
# Until a model that could not be had is tried again: the network may be back by then.
MODEL_RETRY_SECONDS = 300.0
# A file that was read within this time may have told a model what to remember.
READ_FILE_SECONDS = 86_400.0
MAX_READ_FILES, MAX_FILE_CHARS = 20, 100_000
# Of a client's or a model's name: both say of themselves what they like.
MAX_NAME_CHARS = 100
# Of the user's last words that are searched for, as many as the background embeds.
MAX_QUESTION_CHARS = 1_200

PROVIDERS = {
    "claude": "anthropic",
    "gpt": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "gemini": "google",
}
"""The first part of a model's name → its provider, where that is plain."""

IS_USER_SCOPE = {
    "project": False,
    "user": True,
    "global": True,
    "universal": True,
}
"""The name of a scope → True if it means the user's own space."""


class ToolContext:
    """A memory for the tools of one server. Tools run in threads, several at once."""

    def __init__(self, settings: Settings, space: str) -> None:
        self._space = space
        self._settings = settings
        self._settings_changed_at = config.config_modified_at(settings)
        # Over stdio one process serves one conversation.
        self.session = clock.new_id("mcp")
        self._lock = threading.Lock()
        self._known_secrets = KnownSecrets(clock.new_key())
        self._warmup: EmbedderWarmup | None = None
        self._key_watch: KeyWatch | None = None

    @cached_property
    def _mind(self) -> Mind:
        mind = reverie.open(settings=self._settings)
        self._key_watch = KeyWatch(self._settings.home, self.close)
        attach_spool(mind, "mcp", lambda: self._spawn_worker(mind))
        # Somebody may have pulled: what is new in a shared file is taken in meanwhile.
        if mind.data.shares(space=self.space):
            self._spawn_worker(mind)
        return mind

    @property
    def settings(self) -> Settings:
        """The settings, with what was switched off or on meanwhile: a server runs for days."""
        modified_at = config.config_modified_at(self._settings)
        if modified_at != self._settings_changed_at:
            self._settings_changed_at = modified_at
            # Somebody may be editing it by hand: what was chosen before holds.
            with suppress(BadInput):
                self._settings = config.reload_switches(self._settings)
        # The conversation of the host that has started this server may be switched off.
        if environment.host_session() in self._settings.off_sessions:
            return self._settings._replace(enabled=False)
        return self._settings

    @property
    def space(self) -> str:
        """The space that tools read from and write in."""
        return self._space

    @property
    def mind(self) -> Mind:
        """The memory, opened at the first access; anew at the first one after it was locked.

        HomeLockedError while it is.
        """
        # Tools run in threads, and a memory is opened once.
        with self._lock:
            if "_mind" in vars(self) and not has_home_key(self._settings.home):
                self._close_mind()
            self._mind.context.settings = self.settings
            return self._mind

    @property
    def spaces(self) -> tuple[str, ...]:
        """The spaces that can be seen from here, nearest first."""
        return visible_spaces(self.space)

    @cached_property
    def zone(self) -> str:
        """The time zone of times that name none."""
        return config.local_time_zone(self.settings)

    def hide_known_secrets(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """A tool's arguments without the secrets that this conversation gave away before; what
        they give away is known from now on, also to the hooks of the same conversation.
        """
        from reverie.privacy import hide_known_within, redact_value

        files, session = HookFiles(str(self._settings.home)), environment.host_session()
        shared = bool(session) and files.read_note(session) is not None
        with self._lock:
            if shared:
                self._known_secrets = load_session_secrets(files, session)
            known = self._known_secrets
            hidden = hide_known_within(arguments, known)
            before = len(known)
            redact_value(arguments, self._settings.policy, known=known)
            if shared and len(known) > before:
                save_session_secrets(files, session, known)
        assert isinstance(hidden, dict)
        return hidden

    def list_redactions(self, *given: Any) -> list[str]:
        """The kinds of secrets and masked data that were redacted from arguments, never their
        values.
        """
        from reverie.memory.memory_validation import redaction_kinds, to_clean_json
        from reverie.privacy import MARK_PATTERN, redact_value

        clean = to_clean_json(given)
        kinds = redaction_kinds(redact_value(clean, self.mind.work.policy)[1])
        # A secret that the conversation gave away before was hidden before the tool was called.
        hidden = MARK_PATTERN.findall(json.dumps(clean))
        return sorted({*kinds, *(mark[len("[REDACTED:") : -1] for mark in hidden)})

    def with_redactions(self, answer: Answer, *given: Any) -> Answer:
        """The answer, with the kinds of secrets that were redacted from arguments, if any were."""
        if redacted := self.list_redactions(*given):
            # A type checker cannot know that the answer of each tool set has this field.
            noted: Any = answer
            noted["redacted"] = redacted
        return answer

    def last_user_words(self) -> str:
        """The user's last message in this space, as far as a host told it; "" if none did."""
        past = self.mind.sessions.browse(space=self.space, limit=1)
        if not past:
            return ""
        for line in reversed(self.mind.sessions.read(past[0].session, space=self.space).lines):
            if line.role == "user" and line.text.strip():
                return line.text[:MAX_QUESTION_CHARS]
        return ""

    def space_of(self, scope: str, allowed: Sequence[str]) -> str:
        """The space of a scope. One that is not allowed is refused: nothing is widened or narrowed
        silently.
        """
        if scope not in allowed:
            raise BadInput(f"{scope!r} is no scope; there are {', '.join(allowed)}")
        return ME if IS_USER_SCOPE[scope] else self.space

    def scope_of(
        self,
        memory: Memory,
        narrow: str,
        wide: str,
    ) -> str:
        """The scope of a memory, as the tool set calls the two of them."""
        return wide if memory.space == ME else narrow

    def get_visible(self, ids: Sequence[str]) -> list[Memory]:
        """Memories by id that can be seen from here; NotFound for others, whether they exist or
        not.
        """
        self.settings.check_on(self.space)
        # One answer for what is elsewhere and what is nowhere: ids of others are not confirmed.
        ids = [expand_id(self.mind.store, id, self._is_visible) for id in ids]
        found = {memory.id: memory for memory in self.mind.get(ids) if self._is_visible(memory)}
        if missing := [id for id in ids if id not in found]:
            raise NotFound(f"There is no memory with the id {', '.join(missing)}")
        return [found[id] for id in dict.fromkeys(ids)]

    def _is_visible(self, memory: Memory) -> bool:
        return memory.space in self.spaces

    def session_of(self, ctx: Context | None) -> str:
        """The conversation of a request: that of this process, or over HTTP of its session; "" for
        none.
        """
        headers = ctx.headers if ctx else None
        # No headers: over stdio.
        if headers is None:
            return self.session
        name = headers.get("mcp-session-id", "")
        return f"{self.session}-{name}" if name else ""

    def search_mode(self) -> str:
        """The search mode: "auto" where the model is ready, "words" while it is downloaded or
        loaded.
        """
        mind = self.mind
        # No model is configured, so waiting for one would be in vain.
        if mind.embedder is None:
            return "words"
        embedder = mind.context.answering_embedder or mind.embedder
        with self._lock:
            if self._warmup is None or self._warmup.may_retry:
                self._warmup = EmbedderWarmup(embedder)
        return "auto" if self._warmup.is_ready() else "words"

    def describe_search(self, mode: str) -> str:
        """The note of an answer that was searched for in this mode; it says where a model would
        have found more.
        """
        needs_model = mode == "words" and self.mind.embedder is not None
        return f"{NOTE} {WORDS_ALONE}" if needs_model else NOTE

    def vouch(
        self,
        text: str,
        kind: str = "fact",
        ctx: Context | None = None,
    ) -> Claim:
        """The provenance and author of a text that a model asks to keep.

        Judged also by prompts that no worker has taken in yet, and by files that were read.
        """
        claim = self.mind.review.vouch(
            text,
            kind,
            space=self.space,
            said=self._spooled_prompts(),
            heard=self._recently_read_files(),
        )
        return claim._replace(author=self.author_of(ctx))

    def author_of(self, ctx: Context | None) -> Author:
        """The author of a request: the client as it names itself, and its model if hooks of the
        same host have named that.
        """
        from reverie.interfaces.hooks.speaking_model import find_speaking_model

        params, policy = ctx.session.client_params if ctx else None, self.settings.policy
        client = ""
        if params:
            client = redact_short_text(params.client_info.name, policy)[:MAX_NAME_CHARS]
        model = find_speaking_model(HookFiles(str(self.settings.home)), client, self.space)
        name = redact_short_text(model, policy)[:MAX_NAME_CHARS]
        return Author(
            client,
            name,
            PROVIDERS.get(model.partition("-")[0], ""),
        )

    def _spooled_prompts(self) -> list[str]:
        """Prompts that hooks have written to the spool and nobody has taken in yet."""
        from reverie.interfaces.hooks.hook_event import PROMPT

        paths = HookFiles(str(self.settings.home)).list_events()[-MAX_READ_FILES:]
        events = filter(None, map(read_json_object, paths))
        return [
            str(event.get("text", ""))
            for event in events
            if event.get("kind") == PROMPT and event.get("space") == self.space
        ]

    def _recently_read_files(self) -> list[str]:
        """The beginnings of files that were read here lately, as far as they can be found."""
        # Paths of the log are those within the project, so another space's cannot be found.
        root = config.find_work_tree(config.working_directory())
        if config.project_space_of(root) != self.space:
            return []
        since = clock.now() - READ_FILE_SECONDS
        touched = self.mind.activity.events(
            verbs=("file",),
            space=self.space,
            since=since,
            limit=MAX_READ_FILES,
        )
        reads = [event.payload for event in touched if event.payload.get("operation") == "read"]
        found = []
        for path in {str(payload.get("path", "")) for payload in reads}:
            with suppress(OSError, ValueError):
                place = Path(root, path)
                if place.is_file():
                    with place.open(encoding="utf-8", errors="replace") as file:
                        found.append(file.read(MAX_FILE_CHARS))
        return found

    def request_settling(self) -> None:
        """Have settled what was written; returns at once."""
        self._spawn_worker(self.mind)

    def _spawn_worker(self, mind: Mind) -> None:
        """Start the detached worker, unless one runs."""
        from reverie.interfaces import worker

        # In trouble it waits for the next one who settles.
        with suppress(ReverieError, OSError):
            worker.spawn_worker(self.settings, mind.store)

    def close(self) -> None:
        """Close the memory, if it was opened."""
        with self._lock:
            self._close_mind()

    def _close_mind(self) -> None:
        # Asking for the property would open it.
        mind: Mind | None = vars(self).pop("_mind", None)
        watch, self._key_watch = self._key_watch, None
        if watch is not None:
            watch.stop()
        if mind is not None:
            self._warmup = None  # its model goes with it
            mind.close()


class ToolSet:
    """The tools of a profile: those among its methods that `tools` names."""

    def __init__(self, context: ToolContext) -> None:
        self.context = context


class EmbedderWarmup:
    """Loading of an embedder in the background, with the download of its model if need be."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._is_loaded = False
        self._began_at = clock.ticks()
        self._done = threading.Event()
        threading.Thread(
            target=self._warm,
            name="reverie-warm",
            daemon=True,
        ).start()

    def _warm(self) -> None:
        # Where there is no model and it cannot be downloaded, search by words must do.
        with suppress(ReverieError, OSError):
            self._embedder.embed(["warm"])
            self._is_loaded = True
        self._done.set()

    def is_ready(self) -> bool:
        """True if the embedder is loaded.

        The first callers wait for it, until WARMUP_SECONDS after the beginning; later ones do not.
        """
        patience = max(0.0, self._began_at + WARMUP_SECONDS - clock.ticks())
        return self._done.wait(patience) and self._is_loaded

    @property
    def may_retry(self) -> bool:
        """True if it failed, a while ago."""
        has_failed = self._done.is_set() and not self._is_loaded
        return has_failed and clock.ticks() - self._began_at > MODEL_RETRY_SECONDS
