"""Reverie: long-term memory for AI agents. What they need to remember comes up at their next turn.

    import reverie

    with reverie.open() as mind:
        mind.remember("The staging server is called heron.")
        mind.recall("which host is staging?")

`open` returns a `Mind`, whose verbs are the whole interface; `mind.companion()` is its non-blocking
side. Importing this reads nothing and loads next to nothing: each public name is imported when it
is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from reverie.context_window import Block
    from reverie.core.config import Settings
    from reverie.core.errors import ReverieError
    from reverie.core.model import Hint, Hit, Memory
    from reverie.embedding import Embedder, LazyEmbedder, Progress
    from reverie.llm.language_model import LanguageModel
    from reverie.runtime.companion import Companion
    from reverie.runtime.mind import Mind
    from reverie.storage import Store

__version__ = "0.1.0"
__all__ = [
    "Block",
    "Companion",
    "Hint",
    "Hit",
    "Memory",
    "Mind",
    "ReverieError",
    "Settings",
    "open",
]

_HOMES = {
    "Block": "context_window",
    "Companion": "runtime.companion",
    "Hint": "core.model",
    "Hit": "core.model",
    "Memory": "core.model",
    "Mind": "runtime.mind",
    "ReverieError": "core.errors",
    "Settings": "core.config",
}


def open(
    where: str | Path | None = None,
    *,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
    now: Callable[[], float] | None = None,
) -> Mind:
    """Open a memory: `~/.reverie` by default, or a folder, a `.db` file, ":memory:", a store URL,
    or "https://…", a team's server: then a home of its own that is kept in step with it.

    `embedder` replaces the configured one, `settings` everything that is configured; `progress` is
    called during downloads; `now` is the clock. Nothing is fetched before the first text needs a
    vector. A purge or scrub that was killed is finished first.
    """
    from reverie.erasure.unfinished import finish_erasure

    if isinstance(where, str) and where.startswith(("https://", "http://")):
        return open_replica(where, settings=settings, embedder=embedder, progress=progress, now=now)
    mind = open_as_found(where, settings=settings, embedder=embedder, progress=progress, now=now)
    finish_erasure(mind.work)
    return mind


def open_replica(
    url: str,
    *,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
    now: Callable[[], float] | None = None,
) -> Mind:
    """`open` for a team's server: its replica, in step as far as a few seconds go, and in the
    background from then on.
    """
    from reverie.core import config
    from reverie.runtime.server_replica import follow_server, replica_settings

    usual = settings or config.load_settings()
    chosen = replica_settings(url, usual)
    mind = open(settings=chosen, embedder=embedder, progress=progress, now=now)
    try:
        follow_server(mind, url, usual.home)
    except BaseException:
        mind.close()
        raise
    return mind


def open_as_found(
    where: str | Path | None = None,
    *,
    settings: Settings | None = None,
    embedder: Embedder | None = None,
    progress: Progress | None = None,
    now: Callable[[], float] | None = None,
) -> Mind:
    """`open`, for whoever only looks what state a memory is in: a purge or scrub that was killed is
    not finished.
    """
    from contextlib import suppress

    from reverie.core import clock, config
    from reverie.core.errors import StoreError
    from reverie.mirror.home_place import note_home_place
    from reverie.runtime.mind import Mind
    from reverie.storage import open_store
    from reverie.storage.private_home import tighten_home

    chosen = settings or config.load_settings(config.home_of_address(where))
    chosen = chosen._replace(home=config.sandbox_folder(chosen.home))
    given_home = None if where is None else config.home_of_address(where)
    if given_home is not None:
        # An address that is given wins over one that is configured.
        chosen = chosen._replace(home=given_home, store="")
    config.check_time_zone(chosen)
    store = open_store(config.resolve_store_url(where, chosen))
    if embedder is None and chosen.embedder != "none":
        embedder = open_lazily(chosen, progress)
    clock_now = now or clock.now
    tighten_home(chosen, store, clock_now())
    llm = open_configured_llm(chosen, store, clock_now)
    # Where nothing can be written, no page is.
    with suppress(StoreError):
        note_home_place(store, chosen)
    return Mind(store, embedder, chosen, clock_now, llm)


def open_lazily(settings: Settings, progress: Progress | None = None) -> LazyEmbedder:
    """The embedder of these settings, opened at the first use; it can open earlier ones."""
    from reverie.embedding import LazyEmbedder

    def open_earlier(setting: str) -> Embedder:
        # What is no longer wanted is used while it is here, and never fetched.
        earlier = settings._replace(embedder=setting, api_key="", offline=True)
        return open_configured_embedder(earlier, None)

    return LazyEmbedder(
        lambda: open_configured_embedder(settings, progress), settings.embedder, open_earlier
    )


def open_configured_embedder(settings: Settings, progress: Progress | None) -> Embedder:
    """The embedder of these settings, with a cache of recent vectors."""
    from reverie.embedding import open_embedder
    from reverie.embedding.vector_cache import CachedEmbedder, RecentVectors

    inner = open_embedder(
        settings.embedder,
        cache=settings.cache,
        progress=progress,
        offline=settings.offline,
        api_key=settings.api_key or None,
        providers=settings.providers,
    )
    return CachedEmbedder(inner, RecentVectors())


def open_configured_llm(
    settings: Settings,
    store: Store,
    now: Callable[[], float],
) -> LanguageModel | None:
    """The language model of these settings; None without one, or where no connection
    may be made.
    """
    if not settings.llm or settings.offline:
        return None
    from reverie.llm import open_llm
    from reverie.llm.spending_limits import SpendingLimits
    from reverie.privacy import redact

    policy = settings.policy.masking
    return open_llm(
        settings.llm,
        key=settings.llm_key,
        price=(settings.llm_price_in, settings.llm_price_out),
        limits=SpendingLimits(settings.llm_tokens_per_day, settings.llm_dollars_per_day),
        books=store,
        now=now,
        private=lambda text: redact(text, policy)[0],
    )


def __getattr__(name: str) -> object:
    """A public name, imported when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'reverie' has no attribute {name!r}")
    return getattr(import_module(f"reverie.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """The public names."""
    return sorted([*__all__, "__version__"])
