"""A memory in which every field that pages show is hostile: markup, quotes, what turns lines around,
very long words, emoji of many parts.
"""

from reverie.core.model import Event
from reverie.testing import SPACE
from tests.interfaces.web.browser_checks import know_views
from tests.interfaces.web.web_client import NASTY

RUN = "window.pwned=1"
HOSTILE = (
    NASTY,
    f"<script>{RUN}</script>",
    f"</textarea></title></script><script>{RUN}</script>",
    f"\"'><svg onload={RUN}>",
    f"' autofocus onfocus='{RUN}' x='",
    f"javascript:{RUN}//",
    "{{ 7 * 7 }}{% raw %}${7*7}&lt;b&gt;&#60;",
    "\u202egnp.exe\u202c \u2067ישראל abc\u2069 مرحبا",
    "👩‍👩‍👧‍👦🏳️‍🌈" * 12,
    "ẓ̴̞̂a̸̭͋l̵͓̿g̶̥̎o̴̤͛" * 20,
    "W" * 300,
    "-".join(["no-space"] * 60),
    "x\n" * 40,
    "\u200b\ufeff\u00ad",
    "--><!--]]>",
)
LONG = "long " + "0123456789abcdef" * 6_250  # 100 KB without a space
ODD_SPACE = "<b>\"'&{{x}}" + "s" * 60
SESSION = f"a/b?c#d {NASTY} " + "S" * 120


def fill_hostile(mind, repository, count=50):
    """So many memories, and turns, nights, files, guards, pairs, of hostile texts; the parts of the
    addresses of all views.
    """
    now = mind.context.now()
    kept = [
        mind.remember(
            f"{number} {text}",
            title=text if number % 2 else "",
            space=SPACE if number % 3 else f"{SPACE}/{ODD_SPACE}",
            speaker=text[:200],
            session=SESSION,
            tags=[text[:60], "ops"],
            files=[f"src/{text[:80]}.py"],
            kind=("fact", "negative", "learning", f"kind{number}")[number % 4],
            details={"heard_from": text[:300], text[:60]: text[:300]},
            triggers=[text[:120]],
            provenance=("untrusted", "user_stated", "inferred", "observed")[number % 4],
        )
        for number in range(count - 8)
        for text in [HOSTILE[number % len(HOSTILE)]]
    ]
    kept.append(mind.remember(LONG, space=SPACE, session=SESSION, provenance="user_stated"))
    pairs = [
        mind.remember(f"We {verb} on Fridays {text}.", space=SPACE, provenance="user_stated")
        for text in HOSTILE[:3]
        for verb in ("deploy", "do not deploy")
    ]
    for older, newer in zip(pairs[::2], pairs[1::2], strict=True):
        mind.link(newer.id, older.id, "contradicts")
    mind.review.curate(kept[0].id, "escalated", by=NASTY, note=NASTY)
    mind.revise(kept[2].id, text=f"{kept[2].text} {HOSTILE[3]}")
    mind.forget(kept[3].id, NASTY)
    root = add_hostile_code(mind, repository, kept[4].id)
    mind.store.append([turn_of(text, 2 * n, kept, now) for n, text in enumerate((*HOSTILE, LONG))])
    mind.store.append([Event("failed", SPACE, now, SESSION, {"event": 1, "error": NASTY})])
    mind.remember("Old note.", space=SPACE, kind="event", at=now - 86_400 * 4_000)
    report = mind.sleep()
    turn = mind.activity.turns(limit=1)[0].event
    return know_views(
        kept[0].id, turn=turn, run=report.run, session=SESSION, root=root, file="src/a<b>.py"
    ), kept


def turn_of(text, first, kept, now):
    """A turn in which hostile words were said and hostile memories given, for hostile reasons."""
    said = [{"role": "user", "text": f"staging {text}"}, {"role": NASTY, "text": text}]
    given = [kept[0].id, kept[1].id, "mem_gone"]
    payload = {"messages": said, "first": first, "waited": 0.012, "given": given}
    return Event("turn", SPACE, now, SESSION, {**payload, "why": [[NASTY], [text[:200]], []]})


def add_hostile_code(mind, repository, id):
    """A file of a hostile name with a memory, a failure and an edit; the root of its repository."""
    (repository / "src").mkdir(parents=True)
    file = repository / "src" / "a<b>.py"
    file.write_text(f"def get(key):\n    return '''{HOSTILE[1]}'''\n")
    mind.code.index(repository)
    mind.code.anchor(id, [f"{file}:get"])
    file.write_text(f"def get(key, more):\n    return '''{HOSTILE[2]}'''\n")
    mind.code.index(repository)
    error = f"src/a<b>.py:2: KeyError {NASTY}"
    mind.activity.record_tool(
        "Bash", {"command": NASTY}, NASTY, ok=False, error=error, space=SPACE, session=SESSION
    )
    mind.activity.record_file("src/a<b>.py", "edit", space=SPACE, summary=NASTY, session=SESSION)
    mind.activity.events(space=SPACE)  # waits for what is being recorded
    return str(repository.resolve())
