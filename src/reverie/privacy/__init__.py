"""Taking secrets out of text before anything is kept, and saying that something was taken.

`redact(text)` gives the text back with every recognised secret replaced by `[REDACTED:<kind>]`, and
one `Redaction` per mark; the name in front of a secret stays (`API_KEY=[REDACTED:assignment]`), and
so does all that is around it. Secrets are recognised in three ways, each with a room of its own:

- `shapes`: by the shape their issuer gave them (`SHAPES`, one row each);
- `names`: by the name they are assigned to (`NAMES`: `password: …`, `X_TOKEN=…`, "the password is
  …");
- `personal`: payment cards, IBANs and US social security numbers, by their checksum (`PERSONAL`);
  e-mail addresses and phone numbers, where the `Policy` asks for it (`CONTACT`).

What stands between `<private>` and `</private>` goes as well (`reverie.passages`), and of what the
policy refuses no text is left at all. `sensitive` tells which files are not looked into.

`lookalikes` knows, for all three, what only resembles a secret.

Always true: clean text comes back as the *same object*; redacting twice changes nothing more; a
mark is never taken for a secret; no `Redaction` holds what it stands for; time grows linearly with
the text. Nothing here reads a clock, a file or the environment, and there is no shared mutable
state, so any thread may call it.

`python -m bench.privacy` measures what is caught, what is wrongly caught, and how long it takes;
the unit tests hold the floor. A secret without a known shape and without a telling name beside it
(a lone random string) is *not* found: it cannot be told from a git hash, and this package prefers
to keep hashes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from reverie.core.privacy_policy import USUAL, Policy
from reverie.privacy.named_secrets import aligned_lower, assignment_spans, family_of, kind_of
from reverie.privacy.personal_data import CONTACT, PERSONAL, iban_spans, personal_spans
from reverie.privacy.secret_lookalikes import compiled
from reverie.privacy.secret_shapes import SHAPES, Span, rows_in, shape_spans

__all__ = [
    "JSON",
    "MARK",
    "Policy",
    "Redaction",
    "hidden",
    "impersonal",
    "only_private",
    "redact",
    "redact_value",
    "refused",
]

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
MARK = re.compile(r"\[REDACTED:[a-z0-9-]+\]")
PRIVATE = "private"  # the kind of what stood between <private> and </private>
FIRST = -1  # the rank of such a passage: it names the mark, whatever else stands within
FAMILIES = {
    "personal": frozenset(("payment-card", "us-ssn", "iban")),
    "contact": frozenset(("email", "phone")),
}
MOST_PASSES = 12  # each pass only shortens what is not a mark; two is what real text needs


class Redaction(NamedTuple):
    """What was taken out, and where in the redacted text its mark stands. Never the
    secret itself.
    """

    kind: str
    start: int
    end: int


def redact(
    text: str, policy: Policy = USUAL, *, keep_lines: bool = False
) -> tuple[str, tuple[Redaction, ...]]:
    """The text without its secrets, and what was taken out. The same object when there was nothing
    to take.

    `policy` says what becomes of personal data; of a text that holds what it refuses only the mark
    is left. With `keep_lines`, for files, a secret of several lines leaves its line breaks behind,
    so that what follows keeps its line number, and what is refused takes its line with it, not the
    whole text.
    """
    return _without(text, policy, _spans, keep_lines)


def impersonal(text: str, policy: Policy) -> str:
    """A file's text without what is private or personal in it, every line in its place; secrets
    stay.
    """
    return _without(text, policy, _personal, True)[0]


def _without(
    text: str, policy: Policy, find: Callable[[str, Policy], list[Span]], keep_lines: bool
) -> tuple[str, tuple[Redaction, ...]]:
    """The text with a mark for each of the spans that are found, until there are none."""
    marks: tuple[Redaction, ...] = ()
    # A mark can bring a name and a value together that a longer secret kept apart: so look again.
    for _ in range(MOST_PASSES):
        found = find(text, policy)
        spans = _merged(_outside_marks(text, found)) if found else []
        if not spans:
            break
        if unwanted := [span for span in spans if span.kind in _kinds(policy)]:
            if not keep_lines:
                mark = f"[REDACTED:{unwanted[0].kind}]"
                return mark, (Redaction(unwanted[0].kind, 0, len(mark)),)
            spans = _merged(
                _outside_marks(text, [*spans, *(_line_of(text, span) for span in unwanted)])
            )
        text, marks = _replaced(text, spans, marks, keep_lines)
    return text, marks


def hidden(text: str, *, keep_lines: bool = False) -> str:
    """The text without what stands between `<private>` and `</private>`: for whoever cuts it before
    it is redacted.
    """
    spans = _private(text)
    return _replaced(text, spans, (), keep_lines)[0] if spans else text


def only_private(text: str) -> bool:
    """Whether nothing is left of a text but marks of what was private or refused."""
    marks = compiled(r"\[REDACTED:(?:private|sensitive|payment-card|us-ssn|iban|email|phone)\]")
    return bool(text) and not marks.sub("", text).strip()


def refused(found: Iterable[Redaction], policy: Policy) -> list[str]:
    """The kinds among what was taken out that the policy refuses to keep at all."""
    return sorted({one.kind for one in found} & _kinds(policy))


def redact_value(value: JSON, policy: Policy = USUAL) -> tuple[JSON, tuple[Redaction, ...]]:
    """The same for anything JSON can hold, however deep: strings, keys, and what stands under a
    telling key.

    Each `Redaction` counts within its own string. The same object comes back when there was nothing
    to take.
    """
    found: list[Redaction] = []

    def clean(text: str) -> str:
        kept, marks = redact(text, policy)
        found.extend(marks)
        return kept

    holder: list[JSON] = [value]
    todo: list[tuple[list[JSON] | dict[str, JSON], Any, str]] = [(holder, 0, "")]
    while todo:
        box, place, name = todo.pop()
        item: JSON = box[place]
        if isinstance(item, str):
            box[place] = _named(name, item, found) or clean(item)
        elif isinstance(item, list | tuple):
            copy = list(item)
            box[place] = copy
            todo.extend((copy, i, name) for i in reversed(range(len(copy))))
        elif isinstance(item, Mapping):
            renamed = _with_clean_keys(item, clean)
            box[place] = renamed
            names = _names_within(renamed)
            todo.extend((renamed, key, names.get(key, key)) for key in reversed(renamed))
        elif isinstance(item, int) and not isinstance(item, bool):
            box[place] = _clean_number(item, name, clean, found)
    return (holder[0], tuple(found)) if found else (value, ())


def _kinds(policy: Policy) -> frozenset[str]:
    """The kinds that a policy refuses."""
    personal = FAMILIES["personal"] if policy.personal == "refuse" else frozenset()
    return personal | FAMILIES["contact"] if policy.contact == "refuse" else personal


def _line_of(text: str, span: Span) -> Span:
    """A span with all of the line that it stands in."""
    end = text.find("\n", span.end)
    return span._replace(
        start=text.rfind("\n", 0, span.start) + 1, end=end if end >= 0 else len(text), rank=FIRST
    )


def _spans(text: str, policy: Policy) -> list[Span]:
    """Everything to hide in a text."""
    lower = aligned_lower(text)
    spans = list(assignment_spans(text, lower))
    for row in rows_in(text, lower):
        spans.extend(shape_spans(text, SHAPES[row], row))
    return spans + _personal(text, policy)


def _private(text: str) -> list[Span]:
    """What somebody put between the tags that say so; nothing is loaded for a text without the
    word.
    """
    if "private" not in text.lower():
        return []
    from reverie.core.private_passages import passages

    return [Span(start, end, FIRST, PRIVATE) for start, end in passages(text)]


def _personal(text: str, policy: Policy) -> list[Span]:
    """What is private or personal in a text."""
    spans = _private(text)
    if policy.personal != "off":
        if compiled(r"[0-9][0-9 -]{9}").search(text):
            spans.extend(personal_spans(text, PERSONAL))
        if compiled(r"[A-Z][A-Z][0-9][0-9][ A-Z0-9]{11}").search(text):
            spans.extend(iban_spans(text))
    if policy.contact != "off":
        spans.extend(personal_spans(text, CONTACT))
    return spans


def _outside_marks(text: str, spans: list[Span]) -> list[Span]:
    """Drop what lies within an earlier mark; a span that only touches one swallows it whole."""
    if "[REDACTED:" not in text:
        return spans
    marks = [found.span() for found in MARK.finditer(text)]
    starts = [start for start, _ in marks]
    kept = []
    for span in spans:
        left = bisect_right(starts, span.start) - 1
        right = bisect_right(starts, span.end - 1) - 1
        start, end = span.start, span.end
        if left >= 0 and marks[left][1] > start:
            if marks[left][1] >= end:
                continue
            start = marks[left][0]
        if right >= 0 and marks[right][1] > end:
            end = marks[right][1]
        kept.append(span._replace(start=start, end=end))
    return kept


def _merged(spans: list[Span]) -> list[Span]:
    """Overlapping spans become one, named by the most telling of them."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            best = min(last, span, key=lambda s: s.rank)
            merged[-1] = Span(last.start, max(last.end, span.end), best.rank, best.kind)
        else:
            merged.append(span)
    return merged


def _replaced(
    text: str, spans: list[Span], earlier: tuple[Redaction, ...], keep_lines: bool
) -> tuple[str, tuple[Redaction, ...]]:
    """Put the marks in, and keep the earlier redactions' places true."""
    pieces: list[str] = []
    marks: list[Redaction] = []
    waiting = list(reversed(earlier))
    here = length = 0
    for span in [*spans, Span(len(text), len(text), 0, "")]:
        while waiting and waiting[-1].start < span.end:
            old = waiting.pop()
            if old.end <= span.start:
                marks.append(
                    Redaction(old.kind, old.start - here + length, old.end - here + length)
                )
        pieces.append(text[here : span.start])
        length += span.start - here
        here = span.end
        if span.kind:
            mark = f"[REDACTED:{span.kind}]"
            breaks = "\n" * text.count("\n", span.start, span.end) if keep_lines else ""
            pieces.append(mark + breaks)
            marks.append(Redaction(span.kind, length, length + len(mark)))
            length += len(mark) + len(breaks)
    return "".join(pieces), tuple(marks)


def _with_clean_keys(item: Mapping[str, JSON], clean: Callable[[str], str]) -> dict[str, JSON]:
    """A copy whose keys hold no secret; two keys that become the same mark stay two entries."""
    copy: dict[str, JSON] = {}
    for key, inner in item.items():
        kept = unique = clean(key) if isinstance(key, str) else key
        again = 1
        while unique in copy:
            again += 1
            unique = f"{kept}#{again}"
        copy[unique] = inner
    return copy


def _names_within(item: Mapping[str, JSON]) -> dict[str, str]:
    """`{"name": "DB_PASSWORD", "value": …}` names its value from beside it."""
    told = item.get("name", item.get("key"))
    return {"value": told} if isinstance(told, str) and "value" in item else {}


def _clean_number(
    item: int, name: str, clean: Callable[[str], str], found: list[Redaction]
) -> JSON:
    """A card number or a numeric password can come as a number; it leaves as a mark."""
    written = str(item) if item.bit_length() < 128 else ""
    marked = (family_of(name) in ("password", "pin") and _named(name, written, found)) or clean(
        written
    )
    return marked if marked != written else item


def _named(name: str, value: str, found: list[Redaction]) -> str | None:
    """The mark for a value that its key tells to be a secret; `None` when the key tells nothing."""
    kind = None if MARK.fullmatch(value) else kind_of(name, value)
    if kind is None:
        return None
    mark = f"[REDACTED:{kind}]"
    found.append(Redaction(kind, 0, len(mark)))
    return mark
