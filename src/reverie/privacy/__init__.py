"""Redaction: secrets are taken out of text before it is kept, and it is said that they were.

`redact(text)` gives the text back with every recognised secret replaced by `[REDACTED:<kind>]`, and
one `Redaction` per mark; the name in front of a secret stays (`API_KEY=[REDACTED:assignment]`), and
so does all that is around it. Secrets are recognised in three ways, each with a module of its own:

- `secret_shapes`: by the shape their issuer gave them (`SHAPES`, one row each);
- `named_secrets`: by the name they are assigned to (`password: …`, `X_TOKEN=…`, "the password is
  …");
- `personal_data`: payment cards, IBANs and US social security numbers, by their checksum; e-mail
  addresses and phone numbers, where the `Policy` asks for it.

What stands between `<private>` and `</private>` goes as well (`core.private_passages`), and of what
the policy refuses no text is left at all. `sensitive_files` tells which files are not read.
`secret_lookalikes` knows, for all three, what only resembles a secret.

Always true: clean text comes back as the *same object*; redacting twice changes nothing more; a
mark is never taken for a secret; no `Redaction` holds what it stands for; time grows linearly with
the text. Nothing here reads a clock, a file or the environment, and there is no shared mutable
state, so any thread may call it.

`python -m bench.privacy` measures what is caught, what is wrongly caught, and how long it takes;
the unit tests hold the floor. A secret without a known shape and without a telling name beside it
(a lone random string) is *not* found: it cannot be told from a git hash, and this package prefers
to keep hashes.
"""

# Not `from __future__ import annotations`: a NamedTuple would compile each of them once more.
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from reverie.core.privacy_policy import DEFAULT_POLICY, Policy
from reverie.privacy.known_secrets import KnownSecrets
from reverie.privacy.named_secrets import (
    aligned_lower,
    find_assignment_spans,
    find_neighbour_spans,
    named_secret_kind,
    secret_family_of,
)
from reverie.privacy.personal_data import (
    CONTACT_SHAPES,
    PERSONAL_SHAPES,
    find_iban_spans,
    find_personal_spans,
)
from reverie.privacy.secret_lookalikes import compile_ascii
from reverie.privacy.secret_rule import SecretSpan
from reverie.privacy.secret_shapes import SHAPES, find_shape_spans, select_shape_rows

__all__ = [
    "JSON",
    "MARK_PATTERN",
    "Policy",
    "Redaction",
    "hide_known_secrets",
    "hide_known_within",
    "hide_private_passages",
    "is_fully_redacted",
    "redact",
    "redact_value",
    "refused_kinds",
    "remove_personal_data",
]

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
MARK_PATTERN = re.compile(r"\[REDACTED:[a-z0-9-]+\]")
PRIVATE_KIND = "private"  # the kind of what stood between <private> and </private>
# The lowest rank, so that a private passage names its mark, whatever else stands within.
PRIVATE_RANK = -1
# As the settings `personal` and `contact` divide them.
KINDS_BY_FAMILY = {
    "personal": frozenset(
        ("payment-card", "us-ssn", "iban", "national-id", "passport", "tax-number")
    ),
    "contact": frozenset(("email", "phone", "address")),
    "intimate": frozenset(("birth-date", "health")),
}
_NUMBERED = r"[0-9][0-9A-Z .-]{5}"  # stands in the number of every passport and person
MAX_PASSES = 12  # each pass only shortens what is not a mark; real text needs two


class Redaction(NamedTuple):
    """What was taken out, and where its mark stands in the redacted text. Never the secret."""

    kind: str
    start: int
    end: int


def redact(
    text: str,
    policy: Policy = DEFAULT_POLICY,
    *,
    keep_lines: bool = False,
    known: KnownSecrets | None = None,
) -> tuple[str, tuple[Redaction, ...]]:
    """The text without its secrets, and what was taken out. The same object if that is nothing.

    A secret that is recognised in one place is hidden in every other place of the text. `known`
    are those of earlier texts, which are hidden too; what is recognised here is added to them.

    `policy` says what becomes of personal data; of a text that holds what it refuses only the mark
    is left. With `keep_lines`, for files, a secret of several lines leaves its line breaks behind,
    so that what follows keeps its line number, and what is refused takes its line with it, not the
    whole text.
    """
    return _redact_spans(
        text,
        policy,
        lambda text, policy: _find_spans(text, policy, known),
        keep_lines,
    )


def remove_personal_data(text: str, policy: Policy) -> str:
    """A file's text without private or personal data, every line in its place; secrets stay."""
    return _redact_spans(text, policy, _find_personal, True)[0]


def _redact_spans(
    text: str,
    policy: Policy,
    find: Callable[[str, Policy], list[SecretSpan]],
    keep_lines: bool,
) -> tuple[str, tuple[Redaction, ...]]:
    """The text with a mark for each span that `find` finds, until it finds none."""
    marks: tuple[Redaction, ...] = ()
    refused = _refused_by_policy(policy)
    # A mark can bring a name and a value together that a longer secret kept apart: so look again.
    for _ in range(MAX_PASSES):
        found = find(text, policy)
        spans = _merge_spans(_outside_marks(text, found)) if found else []
        if not spans:
            break
        unwanted = [span for span in spans if span.kind in refused]
        if unwanted and not keep_lines:
            mark = f"[REDACTED:{unwanted[0].kind}]"
            return mark, (Redaction(unwanted[0].kind, 0, len(mark)),)
        if unwanted:
            lines = [_whole_line(text, span) for span in unwanted]
            spans = _merge_spans(_outside_marks(text, [*spans, *lines]))
        text, marks = _replace_spans(text, spans, marks, keep_lines)
    return text, marks


def hide_known_secrets(text: str, known: KnownSecrets) -> str:
    """The text without secrets that are known, and nothing else taken out."""
    spans = _merge_spans(_outside_marks(text, list(known.find(text, len(SHAPES)))))
    return _replace_spans(text, spans, (), False)[0] if spans else text


def hide_known_within(value: JSON, known: KnownSecrets) -> JSON:
    """A JSON value, however deep, without secrets that are known, and nothing else taken out."""
    if isinstance(value, str):
        return hide_known_secrets(value, known)
    if isinstance(value, list | tuple):
        return [hide_known_within(item, known) for item in value]
    if isinstance(value, Mapping):
        return {name: hide_known_within(item, known) for name, item in value.items()}
    return value


def hide_private_passages(text: str, *, keep_lines: bool = False) -> str:
    """The text without `<private>` passages, for whoever cuts it before it is redacted."""
    spans = _find_private(text)
    return _replace_spans(text, spans, (), keep_lines)[0] if spans else text


def is_fully_redacted(text: str) -> bool:
    """True if nothing is left of a text but marks of what was private or refused."""
    # Kinds that may take a whole text with them. A masked key says at least that there was one.
    marks = compile_ascii(
        r"\[REDACTED:(?:private|sensitive|payment-card|us-ssn|iban|national-id|passport|tax-number"
        r"|email|phone|address|birth-date|health)\]"
    )
    return bool(text) and not marks.sub("", text).strip()


def refused_kinds(found: Iterable[Redaction], policy: Policy) -> list[str]:
    """The kinds among what was taken out that the policy refuses to keep at all."""
    return sorted({redaction.kind for redaction in found} & _refused_by_policy(policy))


def redact_value(
    value: JSON,
    policy: Policy = DEFAULT_POLICY,
    *,
    known: KnownSecrets | None = None,
) -> tuple[JSON, tuple[Redaction, ...]]:
    """A JSON value without secrets, however deep: strings, keys, and values under a telling key.

    Each `Redaction` counts within its own string. The same object comes back when there was nothing
    to take. A secret that one string gives away is hidden in all of them, and in `known` as well.
    """
    remembered = KnownSecrets() if known is None else known
    before = len(remembered)
    cleaned, found = _walk_value(value, policy, remembered)
    # What the last string gave away stands in the first one too.
    if len(remembered) > before:
        cleaned, more = _walk_value(cleaned, policy, remembered)
        found += more
    return (cleaned, tuple(found)) if found else (value, ())


def _walk_value(
    value: JSON,
    policy: Policy,
    known: KnownSecrets,
) -> tuple[JSON, list[Redaction]]:
    """A JSON value without what is recognised on one way through it."""
    found: list[Redaction] = []

    def clean(text: str) -> str:
        redacted, marks = redact(text, policy, known=known)
        found.extend(marks)
        return redacted

    # A stack instead of recursion: JSON can be nested deeper than Python calls. An entry is a
    # container of ours, where in it the value stands, and the name that the value goes by.
    holder: list[JSON] = [value]
    todo: list[tuple[list[JSON] | dict[str, JSON], Any, str]] = [(holder, 0, "")]
    while todo:
        box, place, name = todo.pop()
        item: JSON = box[place]
        if isinstance(item, str):
            marked = _mark_named_value(name, item, found)
            if marked is not None:
                known.add(item, found[-1].kind)
            box[place] = marked or clean(item)
        elif isinstance(item, list | tuple):
            copy = list(item)
            box[place] = copy
            places = reversed(range(len(copy)))
            todo.extend((copy, number, name) for number in places)
        elif isinstance(item, Mapping):
            renamed = _with_clean_keys(item, clean)
            box[place] = renamed
            names = _names_within(renamed)
            todo.extend((renamed, key, names.get(key, key)) for key in reversed(renamed))
        # A card number or a PIN may stand in JSON without quotes.
        elif isinstance(item, int) and not isinstance(item, bool):
            box[place] = _clean_number(item, name, clean, found)
    return holder[0], found


def _refused_by_policy(policy: Policy) -> frozenset[str]:
    """The kinds that a policy refuses."""
    return frozenset[str]().union(
        *(kinds for family, kinds in KINDS_BY_FAMILY.items() if getattr(policy, family) == "refuse")
    )


def _whole_line(text: str, span: SecretSpan) -> SecretSpan:
    """A span with all of the line that it stands in."""
    end = text.find("\n", span.end)
    return span._replace(
        start=text.rfind("\n", 0, span.start) + 1,
        end=end if end >= 0 else len(text),
        rank=PRIVATE_RANK,
    )


def _find_spans(
    text: str,
    policy: Policy,
    known: KnownSecrets | None,
) -> list[SecretSpan]:
    """Everything to hide in a text; its secrets become known."""
    lower = aligned_lower(text)
    spans = [*find_assignment_spans(text, lower), *find_neighbour_spans(text, lower)]
    for row in select_shape_rows(text, lower):
        spans.extend(find_shape_spans(text, SHAPES[row], row))
    spans.extend(_find_spoken(text, lower))
    if spans and known is None:
        known = KnownSecrets()
    if known is not None:
        # Two rules may find the same: it is known by the name that its mark bears.
        for span in sorted(spans, key=itemgetter(2)):
            known.add(text[span.start : span.end], span.kind)
        spans.extend(known.find(text, len(SHAPES) + 2))
    return spans + _find_personal(text, policy)


# One of these stands in every text that says a password, or a login, in one of the languages.
_SPOKEN_SIGNS = (
    *("pass", "pwd", "mdp", "login", "log in", "sign in", "cred", "user and", "kennwort", "zugang"),
    *("anmeld", "einlogg", "contrase", "clave", "acceso", "accesso", "accedi", "entrar con"),
    *("identifiants", "connexion", "parola", "chiave", "senha", "palavra"),
)
_WIDE_SPOKEN_SIGNS = (
    *_SPOKEN_SIGNS,
    *("sesi", "phrase", "code d", "密", "口令", "パス", "暗証", "ログイン", "認証", "登录", "登錄"),
    *("账号", "帳號", "비밀", "패스", "암호", "로그인", "계정", "парол", "фраза", "логин", "вход"),
    *("доступ", "войти", "учётн"),
)


def _find_spoken(text: str, lower: str) -> list[SecretSpan]:
    """Passwords in plain words; nothing is loaded for a text that names none."""
    signs = _SPOKEN_SIGNS if text.isascii() else _WIDE_SPOKEN_SIGNS
    there = tuple([sign for sign in signs if sign in lower])
    if not there:
        return []
    from reverie.privacy.spoken_passwords import find_spoken_spans

    missing = tuple([sign for sign in signs if sign not in there])
    return list(find_spoken_spans(text, lower, len(SHAPES), missing))


def _find_private(text: str) -> list[SecretSpan]:
    """The private passages of a text; nothing is loaded for a text without the word."""
    if "private" not in text.lower():
        return []
    from reverie.core.private_passages import find_private_passages

    return [
        SecretSpan(start, end, PRIVATE_RANK, PRIVATE_KIND)
        for start, end in find_private_passages(text)
    ]


def _find_personal(text: str, policy: Policy) -> list[SecretSpan]:
    """What is private or personal in a text."""
    spans = _find_private(text)
    # Two cheap expressions say no to nearly every text before the dear ones are tried.
    if policy.personal != "off":
        if compile_ascii(r"[0-9][0-9 -]{9}").search(text):
            spans.extend(find_personal_spans(text, PERSONAL_SHAPES))
        if compile_ascii(r"[A-Z][A-Z][0-9][0-9][ A-Z0-9]{11}").search(text):
            spans.extend(find_iban_spans(text))
    if policy.personal != "off" and compile_ascii(_NUMBERED).search(text):
        from reverie.privacy.personal_facts import find_number_spans

        spans.extend(find_number_spans(text, aligned_lower(text), len(SHAPES) + 1))
    if policy.contact != "off":
        from reverie.privacy.personal_facts import find_address_spans

        spans.extend(find_personal_spans(text, CONTACT_SHAPES))
        spans.extend(find_address_spans(text, len(SHAPES) + 1))
    if policy.intimate != "off":
        from reverie.privacy.personal_facts import find_intimate_spans

        spans.extend(find_intimate_spans(text, aligned_lower(text), len(SHAPES) + 1))
    return spans


def _outside_marks(text: str, spans: list[SecretSpan]) -> list[SecretSpan]:
    """The spans that do not lie within an earlier mark; one that touches a mark takes it in."""
    if "[REDACTED:" not in text:
        return spans
    marks = [found.span() for found in MARK_PATTERN.finditer(text)]
    # Marks are in order and apart, so of those that begin before a place only the last can hold it.
    starts = [start for start, _ in marks]
    kept = []
    for span in spans:
        start, end = span.start, span.end
        left = bisect_right(starts, start) - 1
        right = bisect_right(starts, end - 1) - 1
        if left >= 0:
            mark_start, mark_end = marks[left]
            if mark_end > start:
                if mark_end >= end:
                    continue
                start = mark_start
        if right >= 0:
            end = max(end, marks[right][1])
        kept.append(span._replace(start=start, end=end))
    return kept


def _merge_spans(spans: list[SecretSpan]) -> list[SecretSpan]:
    """Overlapping spans become one, named by the most telling of them."""
    merged: list[SecretSpan] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            # The lower rank knows more: a shape names an issuer, a name beside a value does not.
            best = min(last, span, key=lambda s: s.rank)
            merged[-1] = best._replace(
                start=last.start,
                end=max(last.end, span.end),
            )
        else:
            merged.append(span)
    return merged


def _replace_spans(
    text: str,
    spans: list[SecretSpan],
    earlier: tuple[Redaction, ...],
    keep_lines: bool,
) -> tuple[str, tuple[Redaction, ...]]:
    """Put the marks in, and keep the earlier redactions' places true."""
    pieces: list[str] = []
    marks: list[Redaction] = []
    waiting = list(reversed(earlier))
    here = length = 0
    # The empty span at the end brings the rest of the text, and of the earlier marks, along.
    for span in [*spans, SecretSpan(len(text), len(text), 0, "")]:
        while waiting and waiting[-1].start < span.end:
            old = waiting.pop()
            # An earlier mark that a span takes in goes with it.
            if old.end <= span.start:
                moved = length - here
                marks.append(Redaction(old.kind, old.start + moved, old.end + moved))
        pieces.append(text[here : span.start])
        length += span.start - here
        here = span.end
        if span.kind:
            mark = f"[REDACTED:{span.kind}]"
            breaks = ""
            if keep_lines:
                breaks = "\n" * text.count("\n", span.start, span.end)
            pieces.append(mark + breaks)
            marks.append(Redaction(span.kind, length, length + len(mark)))
            length += len(mark) + len(breaks)
    return "".join(pieces), tuple(marks)


def _with_clean_keys(
    item: Mapping[str, JSON],
    clean: Callable[[str], str],
) -> dict[str, JSON]:
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
    """The name of a value beside it: `{"name": "DB_PASSWORD", "value": …}`."""
    told = item.get("name", item.get("key"))
    return {"value": told} if isinstance(told, str) and "value" in item else {}


def _clean_number(
    item: int,
    name: str,
    clean: Callable[[str], str],
    found: list[Redaction],
) -> JSON:
    """A number, or a mark if it is a card number or a password."""
    # Python refuses to write integers of thousands of digits; none of them is a card number.
    written = str(item) if item.bit_length() < 128 else ""
    marked: str | None = None
    if secret_family_of(name) in ("password", "pin"):
        marked = _mark_named_value(name, written, found)
    marked = marked or clean(written)
    return marked if marked != written else item


def _mark_named_value(
    name: str,
    value: str,
    found: list[Redaction],
) -> str | None:
    """The mark for a value that its key tells to be a secret; None for other keys."""
    kind = None if MARK_PATTERN.fullmatch(value) else named_secret_kind(name, value)
    if kind is None:
        return None
    mark = f"[REDACTED:{kind}]"
    found.append(Redaction(kind, 0, len(mark)))
    return mark
