"""The verbs. Read this second.

A `Mind` is a store, an embedder and settings; every verb decides with pure functions from `lifecycle` and `search`, and
makes it so with one `store.apply`. Scope is an argument of every verb: `space` defaults to the one that the working
directory belongs to. `remember` returns when the memory is durable and can be found by its words; vectors follow in
`settle`, which the companion runs by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from reverie import clock, config
from reverie.config import Settings
from reverie.errors import BadInput, Conflict, Disabled, NotFound
from reverie.lifecycle import change
from reverie.lifecycle.asked import question, texts, whole
from reverie.lifecycle.intake import Moment, built, checked_space, checked_tags, clean, private
from reverie.model import Add, Change, Event, Filter, Hint, Hit, Memory, Record, Retire, Revise, lineage
from reverie.search import Query, search
from reverie.words import keywords

if TYPE_CHECKING:
    from reverie.backups import Purged
    from reverie.companion import Background, Companion
    from reverie.embed import Embedder
    from reverie.lifecycle.explain import Explanation
    from reverie.lifecycle.transfer import Imported
    from reverie.settle import Settled
    from reverie.store import Problem, Stats, Store

P = ParamSpec("P")
R = TypeVar("R")


def alone(verb: Callable[P, R]) -> Callable[P, R]:
    """A verb that reads before it writes: nobody else writes in between, so that no change is lost (CC-12)."""
    @wraps(verb)
    def within(*args: P.args, **kwargs: P.kwargs) -> R:
        mind = args[0]
        assert isinstance(mind, Mind)
        with mind.store.alone():
            done = verb(*args, **kwargs)
        mind._withdraw()
        return done
    return within


FIELDS = ("text", "title", "kind", "tags", "space", "at", "session", "speaker", "provenance", "files", "triggers",
          "details", "messages", "valid_from", "valid_to", "expires_at", "trust", "salience")    # of `remember`
CHUNK = 500    # memories of `remember_many` in one transaction: others can write in between


class Mind:
    """Long-term memory: what `reverie.open()` returns. Use it as a context manager, or call `close`."""

    def __init__(self, store: Store, embedder: Embedder | None, settings: Settings,
                 now: Callable[[], float] = clock.now) -> None:
        self.store, self.embedder, self.settings = store, embedder, settings
        self._now = now
        self._background: Background | None = None
        self._leaving: list[str] = []          # ids that count no longer once the present transaction is through

    # Keeping

    def remember(self, text: str, *,  # noqa: PLR0913 - the fields of a memory are its arguments
                 space: str | None = None, kind: str = "fact", title: str = "",
                 tags: Iterable[str] = (), at: Moment = None, session: str = "", speaker: str = "",
                 provenance: str = "observed", files: Iterable[str] = (), triggers: Iterable[str] = (),
                 details: Mapping[str, Any] | None = None, messages: tuple[int, int] | None = None,
                 valid_from: Moment = None, valid_to: Moment = None, expires_at: Moment = None,
                 trust: float | None = None, salience: float = 0.5) -> Memory:
        """Keep something. Durable and findable by its words when this returns.

        Secrets are taken out first and named in `details["redacted"]`. `at` is when it happened or was said (default:
        now), `session` and `speaker` say where and by whom, `files` what it is about, `triggers` patterns that call it
        up. Raises BadInput for what cannot be kept, Disabled where memory is switched off.
        """
        home = self._writable(space)
        now = self._now()
        memory = built(clock.new_id(), now, text, space=home, kind=kind, title=title, tags=tags, at=at,
                       session=session, speaker=speaker, provenance=provenance, files=files, triggers=triggers,
                       details=details, messages=messages, valid_from=valid_from, valid_to=valid_to,
                       expires_at=expires_at, trust=trust, salience=salience)
        self._apply([Add(memory=memory)], "remember", home, now, session=memory.session)
        return memory

    def remember_many(self, items: Iterable[Mapping[str, Any]], *, space: str | None = None) -> list[Memory]:
        """Keep many things, in order; each item has the names of `remember`'s arguments, its own `space` too.

        Everything is checked before anything is kept. Written in transactions of 500: after a crash, those that were
        committed are there.
        """
        now = self._now()
        default = self._writable(space)
        memories = [self._built(item, place, default, now) for place, item in enumerate(items)]
        for start in range(0, len(memories), CHUNK):
            some = memories[start:start + CHUNK]
            self._apply([Add(memory=memory) for memory in some], "remember", default, now)
        return memories

    def _built(self, item: Mapping[str, Any], place: int, default: str, now: float) -> Memory:
        try:
            values = dict(item)
            if unknown := [name for name in values if name not in FIELDS]:
                raise BadInput(f"{unknown[0]!r} is not one of {', '.join(FIELDS)}")
            home = self._writable(values.pop("space", default))
            return built(clock.new_id(), now, values.pop("text", None), space=home, **values)
        except (BadInput, TypeError, ValueError) as err:
            raise BadInput(f"Item {place}: {err}. Nothing was kept") from err

    # Finding

    def recall(self, query: str, *, space: str | None = None, limit: int = 10, kinds: Iterable[str] = (),
               tags: Iterable[str] = (), mode: str = "auto") -> list[Hit]:
        """The best memories for a question, best first; an empty list is an answer.

        `mode`: "auto" (the learned ranking), "convex" or "rrf" (plain fusions of words and meaning), "dense", or
        "words", which needs no model. Where no vector can be had, words answer. An empty query gives the newest.
        """
        question(query, "query")
        spaces = lineage(self._space(space))
        wanted = texts(kinds, "kinds")
        if whole(limit) <= 0 or self.settings.is_off(spaces[0]):
            return []
        return search(self.store, Query(
            text=query, context=query, spaces=spaces, now=self._now(), limit=limit, mode=mode, kinds=wanted,
            tags=checked_tags(tags), **({} if mode == "words" else self._meaning(query))))

    def hints(self, prompt: str, *, space: str | None = None, limit: int = 5) -> list[Hint]:
        """Ids, titles and tags of what may be worth reading for a prompt, never the text; `get` reads it."""
        question(prompt, "prompt")
        spaces = lineage(self._space(space))
        if whole(limit) <= 0 or self.settings.is_off(spaces[0]):
            return []
        hits = search(self.store, Query(text=prompt, context=prompt, spaces=spaces, now=self._now(), limit=limit,
                                        automatic=True, **self._meaning(prompt)))
        return [Hint(hit.memory.id, hit.memory.title or keywords(hit.memory.text), hit.memory.kind, hit.memory.tags)
                for hit in hits]

    def get(self, ids: Sequence[str] | str) -> list[Memory]:
        """Memories by id, in the order asked, whatever their state; unknown ids are left out."""
        return self.store.get(texts([ids] if isinstance(ids, str) else ids, "ids"))

    def browse(self, *, space: str | None = None, kinds: Iterable[str] = (), tags: Iterable[str] = (),
               session: str = "", active: bool | None = True, limit: int = 100, after: str = "") -> list[Memory]:
        """What is in a space and above it, newest first; `after` the last id of the page before."""
        where = Filter(spaces=lineage(self._space(space)), kinds=texts(kinds, "kinds"), tags=checked_tags(tags),
                       session=clean(session or ""), active=active, limit=max(0, whole(limit)),
                       after=clean(after or ""))
        return self.store.browse(where)

    def tags(self, space: str | None = None) -> dict[str, int]:
        """Every tag that can be seen from a space, and how many memories carry it."""
        return self.store.tags(lineage(self._space(space)))

    def history(self, id: str) -> list[Record]:
        """What was done to a memory, oldest first, with what was there before."""
        return self.store.history(self._one(id).id)

    def explain(self, id: str) -> Explanation:
        """Where a memory came from and why it is believed, as a story in words."""
        from reverie.lifecycle.explain import explained
        one = self._one(id)
        return explained(one, self.store.history(one.id), self.store.edges([one.id]), self._now())

    # Altering

    @alone
    def revise(self, id: str, **fields: Any) -> Memory:
        """Other values for some fields: text, title, kind, tags, files, triggers, details, at, expires_at, ….

        The fields are checked like those of `remember`; what was there before stays in the history.
        """
        old, now = self._one(id), self._now()
        if unknown := set(fields) - set(FIELDS):
            raise BadInput(f"{', '.join(sorted(unknown))} cannot be revised; {', '.join(sorted(FIELDS))} can")
        merged = {name: getattr(old, name) for name in FIELDS} | fields
        if "provenance" in fields and "trust" not in fields:
            merged["trust"] = None
        self._writable(merged["space"])
        new = built(id, now, **merged)
        values = {name: getattr(new, name) for name in (*fields, *(["trust"] if "provenance" in fields else []))}
        if new.details != old.details:
            values["details"] = new.details
        self._apply([Revise(id=id, fields={**values, "updated_at": now})], "revise", old.space, now)
        return self._one(id)

    @alone
    def tag(self, id: str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Memory:
        """Put tags on a memory and take tags off it."""
        old, now = self._one(id), self._now()
        gone = set(checked_tags(remove))
        tags = checked_tags(t for t in (*old.tags, *checked_tags(add)) if t not in gone)
        if tags != old.tags:
            self._apply([Revise(id=id, fields={"tags": tags, "updated_at": now})], "tag", old.space, now)
        return self._one(id)

    @alone
    def link(self, src: str, dst: str, rel: str = "relates_to", weight: float = 0.5) -> None:
        """Tie two memories together: thinking of one may bring up the other. A weight of 0 unties them."""
        one, other, now = self._one(src), self._one(dst), self._now()
        changes: list[Change] = [change.linked(src, dst, rel, weight)]
        if rel == "supersedes" and weight:
            changes = change.superseded(other, one, now)
        elif rel == "contradicts" and weight:
            changes = change.contradicting(one, other, now)
        self._apply(changes, "link", one.space, now)

    @alone
    def supersede(self, old: str, new: str) -> None:
        """A newer memory takes the place of an older one, which stays readable by id and can be restored."""
        before, after, now = self._one(old), self._one(new), self._now()
        self._apply(change.superseded(before, after, now), "supersede", before.space, now)

    @alone
    def feedback(self, id: str, helpful: bool, *, session: str = "") -> Memory:
        """It was shown, and helped or did not: use strengthens, rejection weakens, neither deletes."""
        memory, now, session = self._one(id), self._now(), private(session)
        self._apply([change.used(memory, now, helpful=helpful, session=session)], "feedback", memory.space, now,
                    session=session, helpful=helpful)
        return self._one(id)

    # Letting go

    @alone
    def forget(self, ids: Sequence[str] | str, why: str = "forgotten") -> int:
        """No longer counts; `restore` brings it back. Returns how many counted until now."""
        now = self._now()
        found = [memory for memory in self._all(ids) if memory.active]
        if found:
            why = private(why)
            self._apply([Retire(id=memory.id, at=now, why=why) for memory in found], "forget", found[0].space, now)
        return len(found)

    @alone
    def restore(self, id: str) -> Memory:
        """It counts again, also if something had superseded it."""
        memory, now = self._one(id), self._now()
        if not memory.active:
            edges = [e for e in self.store.edges([id], ("supersedes",)) if e.dst == id]
            self._apply(change.restored(memory, edges, now), "restore", memory.space, now)
        return self._one(id)

    @alone
    def undo(self, event: int, *, force: bool = False) -> int:
        """Take back everything an event changed. Returns the number of the event that did so, which can be undone too.

        Raises NotFound for an event that changed nothing, Conflict if somebody has since changed the same fields
        (`force` takes it back all the same).
        """
        records = self.store.changes_of(event)
        if not records:
            known = self.store.event(event)
            raise NotFound(f"Event {event} changed no memory" if known else f"There is no event {event}")
        if not force:
            self._refuse_if_moved_on(records)
        now = self._now()
        return self._apply(change.inverse(records, now), "undo", records[0].event.space, now, of=event)

    def _refuse_if_moved_on(self, records: Sequence[Record]) -> None:
        now_there = {m.id: m for m in self.store.get([r.memory_id for r in records])}
        last = {(r.memory_id, name): r for r in records for name in r.after if r.op in ("revise", "retire")}
        for (id, name), record in last.items():
            if id in now_there and name in change.moved_on(record, now_there[id]):
                raise Conflict(f"{name} of {id} was changed again since event {record.event.seq}. Undo that first, "
                               "or use force")

    def purge(self, ids: Sequence[str] | str) -> Purged:
        """Erase for good: text, words, vectors, history, events that repeat it, also in the daily backups.

        Cannot be undone. `unreached` names the files of the home that may still hold it.
        """
        from reverie import backups
        gone = [memory.id for memory in self._all(ids)]
        erased = self.store.purge(gone)
        self._leaving += gone
        self._withdraw()
        return backups.Purged(erased, backups.purge(self.settings, self.store, gone))

    # Living

    def record(self, verb: str, payload: Mapping[str, Any] | None = None, *, space: str | None = None,
               session: str = "") -> int:
        """Write down that something happened: a tool run, a file read or edit, an error. Returns its number."""
        from reverie.lifecycle.intake import cleaned
        from reverie.privacy import redact_value
        home = self._writable(space)
        if not verb or not verb.isidentifier():
            raise BadInput(f"{verb!r} is not a verb; use one word such as tool, read, edit or error")
        safe, _ = redact_value(cleaned(dict(payload or {})))
        event = Event(verb=verb, space=home, at=self._now(), session=private(session), payload=safe)  # type: ignore[arg-type]
        return self.store.append([event])[0]

    def companion(self, space: str | None = None, *, session: str = "") -> Companion:
        """The non-blocking side, beside one conversation.

        The conversation's name is `session`, or the last part of a space below a project ("me/project/session"), or a
        new one. What it teaches is kept for the project, so that the next conversation has it.
        """
        from reverie.companion import Background, Companion
        where = self._space(space)
        own = not session and where.startswith(f"{config.ME}/") and where.count("/") >= 2
        name = private(session) or (where.rpartition("/")[2] if own else clock.new_id("ses"))
        if self._background is None:
            self._background = Background(self.store, self.embedder, self.settings, self._now)
        return Companion(self._background, where, name, own, self._now)

    def settle(self) -> Settled:
        """Embed, learn and link what is waiting, now and here; waits while another process or thread is at it."""
        from reverie.settle import settled
        return settled(self.store, self.embedder, self.settings, self._now, clock.new_id("settler"))

    # Trust

    def verify(self, repair: bool = False) -> list[Problem]:
        """What is not as it should be; with `repair`, what can be rebuilt is rebuilt."""
        return self.store.verify(repair)

    def stats(self) -> Stats:
        """How much there is of everything."""
        return self.store.stats()

    def export(self) -> Iterable[dict[str, Any]]:
        """Everything, as JSON-ready rows, a header first."""
        yield {"type": "reverie", "version": 1, "at": self._now()}
        yield from self.store.dump()

    def import_(self, rows: Iterable[dict[str, Any] | BadInput], *, skip_bad: bool = False) -> Imported:
        """Take in rows of `export`: what is already there is left alone, so importing twice adds nothing.

        A row that cannot be taken in raises BadInput and nothing is kept of any; with `skip_bad` it is left out,
        counted, and the first twenty are named with their reason. All of it is one transaction.
        """
        from reverie.lifecycle.transfer import taken_in
        return taken_in(self.store, rows, self._now(), skip_bad=skip_bad)

    def backup(self, target: str | Path) -> Path:
        """A consistent copy of the database, while others go on writing."""
        path = Path(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.store.backup(path)
        return path

    def close(self) -> None:
        """Stop the background, let go of the model and the database."""
        if self._background is not None:
            self._background.stop()
        if self.embedder is not None:
            self.embedder.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Helpers

    def _space(self, space: str | None) -> str:
        return config.default_space() if space is None else checked_space(space)

    def _writable(self, space: str | None) -> str:
        home = self._space(space)
        if self.settings.is_off(home):
            raise Disabled(f"Memory is switched off in {home}. `reverie on` switches it on again")
        return home

    def _meaning(self, text: str) -> dict[str, Any]:
        """What a query needs to be compared by meaning; nothing where there is no model or no text."""
        from reverie.settle import embedded
        vector = embedded(self.embedder, private(text)) if text.strip() else None    # a remote one is told no secret
        return {} if vector is None or self.embedder is None else {"vector": vector, "model": self.embedder.model}

    def _one(self, id: str) -> Memory:
        return self._all(id)[0]

    def _all(self, ids: Sequence[str] | str) -> list[Memory]:
        wanted = tuple(dict.fromkeys(texts([ids] if isinstance(ids, str) else ids, "ids")))
        found = self.get(wanted)
        if missing := [id for id in wanted if id not in {memory.id for memory in found}]:
            raise NotFound(f"There is no memory with the id {', '.join(missing)}")
        return found

    def _apply(self, changes: Sequence[Change], verb: str, space: str, now: float, *, session: str = "",
               **payload: Any) -> int:
        seq = self.store.apply(changes, Event(verb=verb, space=space, session=session, at=now, payload=payload))
        self._leaving += [one.id for one in changes if isinstance(one, Retire) or (
            isinstance(one, Revise) and not one.fields.keys().isdisjoint(("text", "space", "retired_at")))]
        return seq

    def _withdraw(self) -> None:
        """What has just ceased to count is not injected from a block that waits."""
        gone, self._leaving = self._leaving, []
        if gone and self._background is not None:
            self._background.withdraw(gone)
