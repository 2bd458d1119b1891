"""Secrets that were recognised once, so that they are hidden wherever they stand again.

What tells a secret (a name, a prefix) often stands beside one of its places only: `token=<x>` and,
a line below, `https://host/<x>/data`. `KnownSecrets` remembers what was recognised and finds it in
this text and, for whoever hands the same object on, in later ones.

Two ways to remember. Without a key the texts themselves are held, in memory, for as long as the
object lives. With a key nothing but keyed digests is, which `to_rows` gives for keeping: neither
the secret nor a part of it can be read from them. Always true: time grows linearly with the text,
whatever the number of secrets; what is found is whole, not a part of a longer word.
"""

# Not `from __future__ import annotations`: a NamedTuple would compile each of them once more.
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reverie.privacy.secret_lookalikes import compile_ascii, is_mixed, is_random
from reverie.privacy.secret_rule import SecretSpan

MIN_KNOWN_CHARS, MAX_KNOWN_CHARS = 6, 4_096
MIN_ANCHOR_CHARS = 4  # of the run of letters and digits by which a secret is looked up
MAX_KNOWN = 2_000  # of one text or session; a file of more is hidden by what is beside each
DIGEST_BYTES = 12
_ATOM = rf"[A-Za-z0-9]{{{MIN_ANCHOR_CHARS},}}"


class KnownSecret(NamedTuple):
    """A secret: how long it is, where in it its anchor stands, and how it reads, or its digest."""

    kind: str
    length: int
    offset: int
    anchor_length: int
    anchor: str
    whole: str


class KnownSecrets:
    """What was recognised so far."""

    def __init__(self, key: bytes = b"") -> None:
        self.key = key
        self._by_anchor: dict[str, list[KnownSecret]] = {}
        self._lengths: set[int] = set()  # of anchors: other words need not be looked up
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, secret: str, kind: str) -> bool:
        """Remember a secret; False if it is known already, or would hide what it does not mean."""
        if not is_worth_knowing(secret) or self._count >= MAX_KNOWN:
            return False
        anchor = max(compile_ascii(_ATOM).findall(secret), key=len, default="")
        if not anchor:
            return False
        # Where it stands first as a run of its own: `abcd` also begins `abcdef`.
        offset = next(
            found.start() for found in compile_ascii(_ATOM).finditer(secret) if found[0] == anchor
        )
        return self._keep(
            KnownSecret(
                kind,
                len(secret),
                offset,
                len(anchor),
                self._form(anchor),
                self._form(secret),
            )
        )

    def find(self, text: str, rank: int) -> Iterator[SecretSpan]:
        """Where secrets that are known stand."""
        if not self._count:
            return
        for atom in compile_ascii(_ATOM).finditer(text):
            if atom.end() - atom.start() in self._lengths:
                yield from self._spans_at(text, atom.start(), self._form(atom[0]), rank)

    def to_rows(self) -> list[list[str | int]]:
        """What is known, for keeping: digests. Only with a key."""
        assert self.key
        return [list(one) for rows in self._by_anchor.values() for one in rows]

    def add_rows(self, rows: Iterable[Iterable[str | int]]) -> None:
        """Take in what was kept; what is no such row is left out."""
        for row in rows:
            try:
                kind, length, offset, anchor_length, anchor, whole = row
                self._keep(
                    KnownSecret(
                        str(kind),
                        int(length),
                        int(offset),
                        int(anchor_length),
                        str(anchor),
                        str(whole),
                    )
                )
            except (TypeError, ValueError):
                continue

    def _keep(self, one: KnownSecret) -> bool:
        rows = self._by_anchor.setdefault(one.anchor, [])
        if any(one[1:] == row[1:] for row in rows):
            return False
        rows.append(one)
        self._lengths.add(one.anchor_length)
        self._count += 1
        return True

    def _spans_at(
        self,
        text: str,
        at: int,
        anchor: str,
        rank: int,
    ) -> Iterator[SecretSpan]:
        for one in self._by_anchor.get(anchor, ()):
            start = at - one.offset
            end = start + one.length
            if 0 <= start and end <= len(text) and self._form(text[start:end]) == one.whole:
                yield SecretSpan(start, end, rank, one.kind)

    def _form(self, text: str) -> str:
        """A text as it is remembered."""
        if not self.key:
            return text
        # Most hooks have no secret to look for: they need not load it.
        import hashlib

        written = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(written, key=self.key, digest_size=DIGEST_BYTES).hexdigest()


def is_worth_knowing(secret: str) -> bool:
    """True for what means nothing else: a password that is a plain word stands in sentences too."""
    if not MIN_KNOWN_CHARS <= len(secret) <= MAX_KNOWN_CHARS or "[REDACTED:" in secret:
        return False
    # `input_tokens_1h` and `postgres1` are names in code as well.
    return is_random(secret) or (is_mixed(secret) and any(sign in secret for sign in "!@#$%^&*+?~"))
