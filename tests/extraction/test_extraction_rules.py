"""What a person asks to be remembered, in so many words; and what only looks like it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.activity.error_lessons import find_error_fixes
from reverie.context_window import HEAD
from reverie.core.kinds import KINDS
from reverie.core.model import TRUST_BY_PROVENANCE
from reverie.core.trigger_patterns import check_trigger, context_of_tool_call, matches_trigger
from reverie.extraction.extraction_rules import RULES
from reverie.extraction.refusal_rules import REFUSALS
from reverie.extraction.rule_extraction import MAX_LESSON_CHARS, RejectedCandidate, extract_lessons
from reverie.text.forbidden_acts import find_program_triggers
from reverie.text.host_messages import split_message
from reverie.text.injection_fence import FENCE_END, remove_injections
from reverie.text.own_sentences import separate_sentences, split_sentences
from reverie.text.text_signals import derive_tags, derive_triggers, find_file_names


def found_in(text):
    """What one message of a user asks to be kept, in order."""
    return list(extract_lessons([("user", text)]).lessons)


ASKED = {
    "Remember that the staging server is heron.": (
        "The staging server is heron.",
        "fact",
        "user_stated",
    ),
    "please note: we deploy on Fridays": ("We deploy on Fridays", "fact", "user_stated"),
    "From now on, answer in French.": ("Answer in French.", "preference", "user_stated"),
    "Never push to main.": ("Never push to main.", "negative", "user_stated"),
    "Always run the linter first.": ("Always run the linter first.", "preference", "user_stated"),
    "I prefer tabs over spaces": ("I prefer tabs over spaces", "preference", "user_stated"),
    "No, use pnpm instead of npm.": ("Use pnpm instead of npm.", "correction", "user_corrected"),
}
NOT_ASKED = [
    "Do you remember that server?",
    "What do you prefer?",
    "I never said that",
    "The test always fails",
    "remember",
    "",
    "Can you note the time?",
    "```\nNever push to main.\n```",
    "x" * 500,
    "No.",
    "never " + "x" * MAX_LESSON_CHARS,
    f"{HEAD}\nNever do:\n- Never push to main. (x)\n{FENCE_END}",
    f"{HEAD}\n- Never push to main, it was cut he",
]

# rule → (what fits it, what nearly does)
EACH = {
    "lesson": (
        [
            "Lesson learned: clear the cache before you run the migration.",
            "Takeaway: never trust the cached lockfile after a rebase.",
            "note to future me: run the seeds before the e2e tests",
            "Gotcha: the sandbox clock is an hour behind.",
        ],
        ["Lesson 3 covers the parser.", "what is the lesson here?"],
    ),
    "learned": (
        [
            "We learned the hard way that the proxy drops headers over 8 KB.",
            "I figured out that the worker needs two CPUs or it starves.",
        ],
        ["I learned Rust last year.", "I found out that Bob is on holiday today."],
    ),
    "turns out": (
        ["Turns out the tests need Redis running.", "It turned out the fixture was shared."],
        ["Turns out I was wrong, sorry.", "Turns out nothing works today."],
    ),
    "cause": (
        [
            "The mistake was that we forgot to rebuild the wheel.",
            "The bug came from the timezone of the container.",
            "It failed because the port was still taken by the old worker.",
        ],
        [
            "It failed because of you.",
            "The bug came back.",
            "The issue was that test, look at it again.",
            "maybe the crash was due to memory",
        ],
    ),
    "remind me": (
        [
            "remind me to call Bob tomorrow at 9",
            "pls remind me in 20 minutes to check the build",
            "can you remind me on Monday that the cert expires?",
            "remind me every Monday at 9 to send the report",
        ],
        [
            "remind me of the port",
            "remind me to prepare the slides for Monday",
            "remind me to wait 20 minutes",
            "remind me to look at the May report",
            "maybe remind me tomorrow to go",
            "remind me what we said about it on Monday",
        ],
    ),
    "don't forget": (
        [
            "don't forget to update the changelog tomorrow",
            "dont let me forget to ask Ann on Friday",
        ],
        ["don't forget to run the tests", "don't forget the milk tomorrow"],
    ),
    "when we touch": (
        [
            "when we touch auth.py, remind me to rotate the keys",
            "next time you open README.md don't forget to fix the badge",
        ],
        ["when we touch it, remind me to do that", "when we met Ann, remember to smile"],
    ),
    "remember": (
        [
            "remember that heron is staging",
            "pls note that oncall rotates weekly",
            "btw keep in mind: dana left",
            "don't forget that the vpn drops at night",
        ],
        [
            "do you remember that one",
            "i can't remember that name",
            "remember the milk",
            "note the error above",
        ],
    ),
    "fyi": (
        ["fyi dana left the team", "for future reference: heron reboots on mondays"],
        ["any fyi emails today?"],
    ),
    "house rule": (
        ["general rule here: new code gets types", "as a rule small functions win"],
        ["what rule is that?"],
    ),
    "from now on": (
        ["from now on small prs please", "ok but going forward answer in short sentences"],
        ["it fails from now on and on"],
    ),
    "decision": (
        ["decision: we ship without sso", "ok decision: colors are off by default"],
        ["that was a decision"],
    ),
    "the user is": (
        ["im on macos", "i'm a backend developer", "btw i'm colorblind", "im new to rust"],
        [
            "i'm on it",
            "i'm in the middle of it",
            "i'm on the train",
            "im a bit lost",
            "i'm from the future branch",
            "am i on macos?",
        ],
    ),
    "the user does": (
        ["i live in lisbon", "i use neovim", "i work mostly in the evenings"],
        ["i use this function twice", "i work on it tomorrow", "i live with that bug"],
    ),
    "the user has": (
        ["my timezone is CET", "my name is Ife btw", "call me Max"],
        ["my branch is behind", "call me when done", "my name is undefined in the output?"],
    ),
    "correction": (
        ["no, it's port 9000", "actually we use traefik now", "that's wrong, the db is on pg-2"],
        [
            "no, the other file",
            "no idea what it's doing",
            "actually it's fine",
            "no worries",
            "actually no",
            "no, i meant the second one",
        ],
    ),
    "never": (
        ["never use println! here", "and pls dont ever log passwords", "NEVER apply to prod"],
        ["never mind", "it never works", "never worked for me", "we never had that"],
    ),
    "not here": (
        ["don't use default exports in this repo", "no UIKit in this codebase please"],
        ["don't touch that", "no tests in there?", "dont do that"],
    ),
    "must never": (
        ["secrets must never be logged", "you should never rebase main"],
        ["should it never do that?", "that must have been it"],
    ),
    "we never": (
        ["we don't use mocks, only fakes", "we never deploy on fridays"],
        ["we never decided on kafka", "we never got an answer", "we don't know yet"],
    ),
    "no such thing": (
        ["no hardcoded hex colors!", "no magic numbers"],
        ["no new errors?", "no problem", "no errors"],
    ),
    "forbidden": (
        ["wildcard imports are forbidden", "eval() is banned"],
        ["is eval() banned?", "error: 403 forbidden"],
    ),
    "not that sort": (
        ["dont add comments that repeat the code", "please don't edit files by hand"],
        ["dont add that", "don't add the tests yet"],
    ),
    "always": (
        [
            "always sign your commits",
            "you should always use utc",
            "make sure to always pin versions",
        ],
        ["does it always do that", "it always fails", "always a pleasure", "always happy to help"],
    ),
    "leave it to me": (
        ["dont push, i push myself", "do not run the migrations yourself"],
        ["don't push yet", "dont do it"],
    ),
    "hands off": (["don't touch anything in vendor/"], ["don't touch that file"]),
    "in general": (
        [
            "commit messages should be in imperative mood",
            "please keep functions under 30 lines",
            "use absolute imports everywhere",
            "tests must not hit the network",
        ],
        [
            "the button should be blue",
            "keep the old name",
            "use 3 retries",
            "use the new endpoint please",
        ],
    ),
    "manner": (
        ["i want short answers", "dont be so verbose in your answers", "less comments please"],
        ["i want a button", "no answers yet?", "more please"],
    ),
    "each": (
        ["every driver needs a doxygen header", "all endpoints must be versioned"],
        ["every test fails"],
    ),
    "when": (["when you touch billing, always add a note"], ["when does it always break?"]),
    "when never": (["in migrations never import models"], ["in my experience it never worked"]),
    "prefer": (
        ["i prefer small prs", "id rather have british spelling", "we favour composition"],
        ["would you prefer that?", "whatever you prefer"],
    ),
    "like": (
        ["i hate yaml anchors", "i don't like abbreviations in names"],
        [
            "i like it",
            "i like this approach",
            "i like the new button",
            "i love it when tests catch that",
        ],
    ),
    "want": (
        ["i want you to run the linter every time"],
        ["i want a hover state too", "i want to go home"],
    ),
    "habit": (
        ["i usually write the test first", "we try to keep functions short"],
        ["we usually what?", "i try to fix it now"],
    ),
    "on every occasion": (
        ["squash commits from now on", "can you answer in german from now on?"],
        ["we will fix it in the future", "what about going forward?"],
    ),
    "stop": (["stop asking me before every commit"], ["stop", "it should stop running"]),
    "this not that": (
        ["use httpx rather than requests", "rem instead of px please"],
        ["use the other one, not this", "use a set instead of a list here"],
    ),
    "before you": (["run mix credo before you say it's done"], ["wait before you do that"]),
    "let us": (
        ["let's go with postgres", "lets stick to semver", "we'll go with argon2 for hashing"],
        [
            "let's go with that",
            "lets go with option 2",
            "let's go",
            "let's use a map here",
            "maybe let's go with redis",
        ],
    ),
    "we move": (
        [
            "we're dropping support for node 16",
            "the plan is: postgres for everything",
            "going with zod",
        ],
        ["we're moving on", "going with that", "the plan is unclear"],
    ),
    "decided": (
        [
            "we decided to drop ie11",
            "we went with css modules over tailwind",
            "we agreed on weekly releases",
        ],
        [
            "we haven't decided on that",
            "did we decide that?",
            "we never decided to use kafka",
            "what have we agreed on?",
        ],
    ),
    "owner": (
        ["marta owns inventory", "billing is maintained by the payments squad"],
        ["who owns inventory?", "it owns the lock", "my own vision"],
    ),
    "you need": (
        ["to run the tests you need to source env.sh", "you can find the api docs under docs/api"],
        ["you need to fix this", "you have to run it again", "you will find it in there"],
    ),
    "this not that fact": (
        ["ids are ulids, not uuids"],
        ["the button is blue, not red", "it is late, not early"],
    ),
    "is our": (
        ["heron is our staging box", "dana is the lead designer"],
        ["it is the server", "that is our bug"],
    ),
    "we use this not that": (
        ["we use pnpm not npm", "for tests we use testing-library, not enzyme"],
        ["do we use pnpm not npm?"],
    ),
    "we use": (
        ["we use postgres 15", "we deploy to fly via github actions"],
        ["we use it", "we run into an error", "should we use postgres?", "maybe we use redis"],
    ),
    "we have": (["we have 3 replicas in eu-west"], ["we have a problem", "do we have 3 replicas?"]),
    "we are on": (
        ["we're on unity 2022.3 lts", "we're pinned to node 18"],
        ["we're on it", "we're on the same page", "are we on node 18?"],
    ),
    "this project": (
        ["this repo uses conventional commits", "the project is a monorepo"],
        ["the project is broken", "this project is great"],
    ),
    "it is called": (
        ["the staging server is called heron", "docs are generated from the code"],
        ["what is it called", "the file is generated wrong", "it is called twice"],
    ),
    "it lives": (
        ["e2e tests live in tests/e2e", "prod goes through argo only"],
        ["it lives there", "this goes to the right"],
    ),
    "infrastructure": (
        ["ci needs docker", "the staging db is on pg-2"],
        [
            "ci is red",
            "the api is slow",
            "the tests are failing",
            "is the db on pg-2?",
            "the pipeline was broken",
        ],
    ),
    "ours": (
        ["our ci runs on self-hosted arm boxes"],
        ["our tests are broken", "is our ci on arm?"],
    ),
    "no longer": (
        ["rev-b boards are dead", "jenkins is gone since may"],
        ["is jenkins gone?", "it is gone"],
    ),
    "limit": (["max 1 request per second per host"], ["max 3 tries?"]),
}
OF_THE_HOUR = [
    "let's do that",
    "lets start with the login page",
    "let's use a dict here",
    "we should fix that first",
    "i think we use redis somewhere",
    "the tests are green now",
    "the build is failing on ci",
    "the button should be blue",
    "please add a test for this",
    "can you run the tests",
    "dont change the other file",
    "use the new endpoint for this call",
    "make it blue",
    "keep the old name",
    "the error is in line 40",
    "the file is in the wrong folder",
    "the user should see a message when it fails",
    "it should be sorted by date",
    "no that broke it",
    "no its still failing",
    "nope same error",
    "wrong file",
    "i want the modal to close on escape",
    "i need a script that renames all files",
    "we need a migration for this",
    "we need to fix this before friday",
    "never mind",
    "always the same error",
    "it is always null",
    "the function is called twice",
    "the test is named wrong",
    "the page is rendered twice",
    "the service is deployed now",
    "our tests are failing since the upgrade",
    "the server runs out of memory after an hour",
    "the worker runs in a loop and never stops",
    "the app crashes on startup",
    "prod is down",
    "the db is empty",
    "staging is on fire lol",
    "ci is stuck on the lint step",
    "i like where this is going",
    "i prefer the first one",
    "i'd rather not",
    "i'd rather do that later",
    "we decided on that already, remember?",
    "do we have a convention for this?",
    "what are the rules for naming here",
    "use your judgement",
    "use the second approach",
    "use 3 retries",
    "run it again but with verbose",
    "remember the bug from yesterday? its back",
    "note that i changed the file meanwhile",
    "keep in mind im on mobile right now",
    "dont forget the tests",
    "from now on it works",
    "that always happens to me",
    "we use this function in two places",
    "every time i click save it crashes",
    "each request takes 3 seconds",
    "all tests pass",
    "all buttons should be blue",
    "the docs are wrong",
    "the docs say always use https",
    "when i click save it always reloads",
    "in the second screenshot it's never shown",
    "before we merge make sure ci is green",
    "after that we can merge",
]
"""What developers type all day and nobody needs to know tomorrow."""

REFUSED = {
    "use port 8081 this time": "",
    "always use port 8081 for now": "one-off",
    "we use pnpm, right?": "question",
    "should we always squash?": "",
    "we use redis i guess": "hypothetical",
    "maybe we should always hash it": "",
    "we never decided to go with opentofu": "",
    "great, another one, i prefer my builds broken lol": "sarcasm",
    "no, it's the other file": "conversation",
    "let's go with option 2": "conversation",
    "ci is red": "passing state",
    "> never push to main": "quoted",
    "the readme says:\nWe use Composer for everything": "quoted",
    "never " + "very " * 100 + "long": "too long",
    "remember that the token is [REDACTED:token]": "secret",
    'he said "always rebase your branches"': "quoted",
    "2024-01-01 12:00:01 INFO always use TLS": "",
    "always lint in this pr": "one-off",
}


@pytest.mark.parametrize("text", ASKED)
@pytest.mark.proves("CC-61", "B49")
def test_explicit_wishes_are_found(text):
    """With their kind and who said so."""
    assert [(f.text, f.kind, f.provenance) for f in found_in(text)] == [ASKED[text]]


@pytest.mark.parametrize("text", NOT_ASKED)
@pytest.mark.proves("CC-62")
def test_other_sentences_are_not_extracted(text):
    """Questions, reports, code, pasted text and Reverie's own output are not extracted."""
    assert found_in(text) == []


@pytest.mark.parametrize(
    ("rule", "text"), [(rule, text) for rule, (fits, _) in EACH.items() for text in fits]
)
@pytest.mark.proves("A63", "A64", "A65", "A66", "A67", "A68", "A70")
def test_each_rule_finds_what_it_is_for(rule, text):
    """Each rule finds its examples, spelled as developers type."""
    found = found_in(text)
    assert len(found) == 1, extract_lessons([("user", text)])
    assert found[0].rule == rule or found[0].kind == next(r.kind for r in RULES if r.name == rule)


@pytest.mark.parametrize("text", [text for _, near in EACH.values() for text in near])
def test_near_misses_are_rejected(text):
    """Questions, passing states, remarks about the conversation: precision comes first."""
    assert found_in(text) == []


@pytest.mark.parametrize("text", OF_THE_HOUR)
def test_requests_of_the_moment_are_rejected(text):
    """Requests, reports, reactions; also in answer to what the agent did."""
    assert (
        extract_lessons(
            [("assistant", "I changed src/app.py and ran the tests."), ("user", text)]
        ).lessons
        == ()
    )


def test_every_rule_has_examples():
    """Every rule has examples, so that none is untested."""
    assert {rule.name for rule in RULES} - {"instead"} == set(EACH)
    assert {rule.kind for rule in RULES} <= set(KINDS)
    assert {rule.provenance for rule in RULES} <= set(TRUST_BY_PROVENANCE)
    assert {name for refusal in REFUSALS for name in refusal.rules} <= {rule.name for rule in RULES}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_says_why(text):
    """The reason is recorded, so that the junk rate can be shown; what no rule asks for is not
    mentioned.
    """
    gained = extract_lessons([("user", text)])
    assert gained.lessons == ()
    assert [one.reason for one in gained.rejected] == ([REFUSED[text]] if REFUSED[text] else [])


def test_several_wishes_in_one_message():
    """Each sentence and each line of a list for itself, in order."""
    text = "Thanks! Remember that heron is staging. Please do it.\n- Never push to main.\n* Always lint first."

    assert [f.kind for f in found_in(text)] == ["fact", "negative", "preference"]


def test_only_the_block_is_taken_out():
    """What stands around it stays; a fence that was cut off hides the rest of the message."""
    assert remove_injections(f"before {HEAD} x {FENCE_END} after").split() == ["before", "after"]
    assert remove_injections(f"before {HEAD} cut").split() == ["before"]


@pytest.mark.parametrize("role", ["assistant", "tool", "system", "developer", "other"])
@pytest.mark.proves("A109", "CC-61")
def test_only_the_user_is_learned_from(role):
    """What an assistant promises or a tool prints is nobody's wish."""
    assert extract_lessons([(role, "Never push to main. I prefer tabs.")]).lessons == ()


def test_tags_of_hosts_are_no_wishes():
    """What a host put between tags is not the user's."""
    assert found_in("<system-reminder>Always use the todo tool.</system-reminder>\nthanks") == []


def test_a_correction_names_what_it_corrects():
    """Where the agent's turn names exactly one thing; else it stays as it was said. Both messages
    are its source.
    """
    npm = [
        ("user", "add the package"),
        ("assistant", 'Sure.\n[Bash {"command": "npm install left-pad"}]'),
        ("tool", "added"),
        ("user", "no, use pnpm"),
    ]
    port = [("assistant", "The server listens on port 8080."), ("user", "no, it's 9000")]
    many = [("assistant", "I ran `npm i` and `npm test`."), ("user", "no, use just everywhere")]

    assert [(f.text, f.first, f.last) for f in extract_lessons(npm).lessons] == [
        ("Use pnpm instead of npm", 1, 3)
    ]
    assert [f.text for f in extract_lessons(port).lessons] == [
        "It's 9000 (about: “The server listens on port 8080.”)"
    ]
    assert [f.text for f in extract_lessons(many).lessons] == ["Use just everywhere"]


@pytest.mark.parametrize(
    "before, said, kept",
    [
        ("I'll run npm install now.", "Use pnpm instead.", "Use pnpm instead of npm."),
        ("I'll add unittest cases.", "no, use pytest", "Use pytest instead of unittest"),
        (
            "Setting up PostgreSQL, then psql.",
            "no, use MySQL please!",
            "Use MySQL please instead of PostgreSQL!",
        ),
        (
            "I ran `npm i` and `npm test`.",
            "no, use pnpm everywhere",
            "Use pnpm everywhere instead of npm",
        ),
        ("I could use npm or yarn.", "Use pnpm instead.", "Use pnpm instead."),
        ("I'll run pnpm install now.", "Use pnpm instead.", "Use pnpm instead."),
        ("I'll open src/npm/index.js and npm-run.", "Use pnpm instead.", "Use pnpm instead."),
        ("I'll run npm install now.", "Use tabs instead.", "Use tabs instead."),
    ],
)
def test_a_correction_is_completed_by_the_tool_the_agent_named(before, said, kept):
    """One other of the same family completes it; two, none, or a name within a path leave it as it
    was said.
    """
    assert [f.text for f in extract_lessons([("assistant", before), ("user", said)]).lessons] == [
        kept
    ]


@pytest.mark.proves("B67", "B68")
def test_a_memory_has_context_and_a_reason_for_its_confidence():
    """A snippet and the reason for its confidence."""
    found = extract_lessons(
        [
            ("assistant", "Done.\nI put the new tests next to the code."),
            ("user", "fine. always put tests under tests/"),
        ]
    ).lessons[0]

    assert found.details == {
        "rule": "always",
        "because": "the user said so",
        "about": "I put the new tests next to the code.",
    }
    assert (found.files, found.tags) == (("tests/",), ("testing",))


def test_a_request_after_a_wish_is_left_out():
    """A request that follows a wish is for now and is not part of the memory."""
    assert [f.text for f in found_in("we decided to use sqlite, so can you set it up?")] == [
        "We decided to use sqlite"
    ]


def test_reason_and_alternative_belong_to_a_prohibition():
    """The reason and the alternative after a prohibition are part of the memory."""
    assert [f.text for f in found_in("never call print in the library. use the logger")] == [
        "Never call print in the library. use the logger"
    ]
    assert [f.text for f in found_in("the name is personal data, dont ever print it in logs")] == [
        "The name is personal data, dont ever print it in logs"
    ]


TRIGGERS = {
    "never use println!": ("println!",),
    "Never push to main.": ("run:git push @main", "git push"),
    "no Debug.Log in shipped code": ("Debug.Log",),
    "never run `rm -rf` here": ("run:rm -rf", "rm -rf"),
    "do not ever force-unlock without asking": ("force-unlock",),
    "don't use moment in this repo": ("moment",),
    "never use any": (),
    "never log secrets": (),
    "always lint": (),
    "never use axios, use fetch": ("axios",),
}


ABOUT_TO = {
    "Never force-push to main; open a pull request": [
        "git push -f",
        "git push --force origin main",
        "git push --force-with-lease",
        "git push origin +main",
        "cd x && git push -f",
    ],
    "You must never force push.": ["git push --force"],
    "Never use git push -f": ["git push --force"],
    "Don't use rm -rf build": ["rm -rf build", "cd x && rm -fr build/", "sudo rm -r -f ./build"],
    "Never run terraform destroy": ["cd infra && terraform destroy", "terraform -chdir=x destroy"],
    "Never commit .env files": ["git add .env", "git add a .env.local"],
    "Don't read .env": ["cat .env"],
    "Never skip hooks with --no-verify": ["git commit --no-verify -m x"],
    "Never commit to main": ["git commit -m x"],
    "We never commit directly to master": ["git commit"],
}
SAFE = {
    "Never force-push to main; open a pull request": [
        "git push origin main",
        "git commit -m 'add +x'",
    ],
    "Don't use rm -rf build": ["rm -rf dist", "rm build", "npm run build"],
    "Never run terraform destroy": ["terraform plan"],
    "Never commit .env files": ["git add a.environment"],
    "Don't read .env": ["cat x.envrc"],
    "Never commit to main": ["git status"],
}
EDITS = {
    "Don't edit generated files under src/gen": ("src/gen/api.py", "src/main.py"),
    "Do not touch files under vendor/": ("/home/me/vendor/a.go", "src/vendors.go"),
    "Never write migrations by hand": ("app/migrations/0002_x.py", "app/models.py"),
    "Don't edit .env": (".env", "a.env.py"),
    "Never commit .env files": ("/x/.env.local", "environment.py"),
}


@pytest.mark.parametrize("text", ABOUT_TO)
@pytest.mark.proves("B61", "B62")
def test_typical_prohibitions_match_commands_as_typed(text):
    """Each way of doing it, and nothing that is merely like it."""
    triggers = derive_triggers(text)
    assert [] == [
        typed for typed in ABOUT_TO[text] if not met(triggers, context_of_tool_call("Bash", typed))
    ]
    assert [] == [
        typed for typed in SAFE.get(text, ()) if met(triggers, context_of_tool_call("Bash", typed))
    ]


@pytest.mark.parametrize("text", EDITS)
def test_files_that_must_not_be_edited(text):
    """The path that the sentence names."""
    inside, outside = EDITS[text]
    assert met(
        derive_triggers(text),
        context_of_tool_call("Edit", {"file_path": inside, "new_string": "x"}),
    )
    assert not met(
        derive_triggers(text),
        context_of_tool_call("Edit", {"file_path": outside, "new_string": "x"}),
    )


SET_ASIDE = {
    "Always use uv, never pip, in this project.": (
        "pip install requests",
        "python3 -m pip install x",
        "pip3 list",
    ),
    "Use pnpm instead of npm.": ("cd web && npm install", "npm ci"),
    "We use vitest rather than jest.": ("npx vitest && jest --watch",),
}


@pytest.mark.parametrize("text", SET_ASIDE)
@pytest.mark.proves("B61")
def test_a_preference_is_called_up_by_the_program_that_it_sets_aside(text):
    """When that is about to run, and by no command that only looks like it."""
    triggers = find_program_triggers(text)
    assert [] == [
        typed for typed in SET_ASIDE[text] if not met(triggers, context_of_tool_call("Bash", typed))
    ]
    for typed in (
        "uv pip install requests",
        "pipeline run",
        "pnpm install",
        "npx vitest",
        "echo pip",
    ):
        assert not met(triggers, context_of_tool_call("Bash", typed))


@pytest.mark.parametrize(
    "text",
    [
        "We use tabs, not spaces.",
        "It does not make sense.",
        "Prefer short answers.",
        "Tests are not run here.",
        "We moved from yarn to pnpm.",
    ],
)
def test_a_preference_without_a_program_has_no_trigger(text):
    """A preference without a program's name has no trigger: nothing is said where it
    is not needed.
    """
    assert find_program_triggers(text) == ()


@pytest.mark.parametrize(
    "text", ["Never write " + "a." * 5_000, "Never rm -rf " + "a" * 5_000, "Never use `x`. " * 99]
)
def test_every_trigger_that_is_taken_can_be_kept(text):
    """Whatever a sentence holds."""
    assert all(check_trigger(one) for one in derive_triggers(text))


def met(triggers, scene):
    return any(matches_trigger(check_trigger(one), scene) for one in triggers)


@pytest.mark.parametrize("text", TRIGGERS)
@pytest.mark.proves("B61")
def test_a_prohibition_is_called_up_by_what_it_names(text):
    """Where it plainly names something."""
    assert derive_triggers(text) == TRIGGERS[text]


@pytest.mark.proves("A69", "B18", "B19", "B20", "B21", "B22")
def test_files_and_tags():
    """Files and tags are extracted where the text names them, and none are guessed."""
    text = "see src/app/main.py, docs/changes/ and .env.staging; not node.js, and/or, 1.2.3 or https://a.example/x.py"
    assert find_file_names(text) == ("src/app/main.py", "docs/changes/", ".env.staging")
    assert derive_tags(["tests/test_api.py", "infra/main.tf", "x.unknown"]) == (
        "python",
        "testing",
        "terraform",
        "infrastructure",
    )


def test_text_is_split_into_sentences():
    """A sentence may begin in lower case; abbreviations and file names do not end one."""
    assert split_sentences("ok. use main.py, e.g. here. we never do that!") == [
        "ok.",
        "use main.py, e.g. here.",
        "we never do that!",
    ]
    assert separate_sentences('he said "always rebase your branches" once') == (
        ('he said "always rebase your branches" once',),
        ("always rebase your branches",),
    )


def test_what_others_are_quoted_with_by_name_is_not_the_writers_own():
    chat = "from slack:\nBob: we decided to use Kafka for everything\nwhat do you think?"
    assert separate_sentences(chat).own == ("from slack:", "what do you think?")
    two = "Bob Miller: we decided to use Kafka\n- Alice: never deploy on Fridays please\nis it so?"
    assert separate_sentences(two).own == ("is it so?",)
    log = "[WARN] use --safe\nnpm ERR! use node 20\nCONTRIBUTING: We never use tabs."
    assert separate_sentences(log).own == ()
    trace = "what is this?\nValueError: please use the new api"
    assert separate_sentences(trace).own == ("what is this?",)


@pytest.mark.parametrize(
    "text",
    [
        "Wichtig: nie am Freitag ausliefern",
        "Note: never deploy on Fridays\nRule: always use tabs",
        "PS: never use tabs",
        "CONTRIBUTING: we never use tabs",
        "Alice: never deploy on Fridays",
        "[WARN] use --safe\nIMPORTANT: never use tabs",
        "Backend: always use Rust\nFrontend: never use React",
        "Kafka: version 3\nRedis: version 7",
        "Backend: always use Rust\nKafka: never use it\nRedis: always expire",
        "ask the team: never deploy on Fridays",
    ],
)
def test_a_label_before_a_colon_is_not_another_persons_name(text):
    own = separate_sentences(text).own
    assert own == tuple(line for line in text.split("\n") if not line.startswith("[WARN]"))


# Errors


def bash(command, answer):
    return [("assistant", f'[Bash {{"command": "{command}"}}]'), ("tool", answer)]


def edit(path):
    return [("assistant", f'[Edit {{"file_path": "{path}"}}]'), ("tool", "updated")]


MISSING = "ModuleNotFoundError: No module named 'pyarrow'"


@pytest.mark.proves("A67", "X28")
def test_what_fixed_an_error_is_learned():
    """The command failed, something was done, the same command went well."""
    talk = [
        ("user", "load the sample"),
        *bash("cd x && python load.py", MISSING),
        *bash("git status", "clean"),
        *bash("uv add pyarrow", "ok"),
        *bash("python load.py", "loaded 1000 rows" + " " * 200),
    ]
    found = extract_lessons(talk).lessons

    assert [(f.text, f.kind, f.provenance, f.first, f.last) for f in found] == [
        (
            f"`python load.py` failed with “{MISSING}”; fixed by running `uv add pyarrow`.",
            "learning",
            "observed",
            2,
            8,
        )
    ]


def test_a_change_of_a_file_can_be_the_fix():
    """With the file."""
    talk = [
        *bash("latexmk a.tex", "! Undefined control sequence. \\\\citet"),
        *edit("a.tex"),
        *bash("latexmk a.tex", "ok"),
    ]
    assert [(f.changed, f.ran) for f in find_error_fixes(talk)[0]] == [(("a.tex",), ())]


@pytest.mark.parametrize(
    "between",
    [
        [],
        [*bash("ls", "a b")],
        [n for k in range(5) for n in edit(f"f{k}.py")],
        [*bash("pip install x", "ok"), ("user", "whoa, never install things without asking")],
        [("user", "hm")] * 40 + bash("pip install x", "ok"),
    ],
)
def test_no_fix_is_learned_where_the_cause_is_unclear(between):
    """Nothing was done, too much was done, it was not wanted, or it took too long."""
    assert (
        find_error_fixes(
            [*bash("make", "make: fatal: x not found"), *between, *bash("make", "done")]
        )[0]
        == []
    )


def test_work_in_progress_teaches_nothing():
    """Tests that fail while code is being written teach nothing."""
    talk = [
        *bash("pytest", "AssertionError: assert 1 == 2"),
        *edit("a.py"),
        *bash("pytest", "1 passed"),
    ]
    assert find_error_fixes(talk) == ([], [])


def test_an_open_failure_is_named():
    """The first failure that is still open is named, so that the next pass begins there."""
    assert find_error_fixes([("user", "go"), *bash("make", "make: command not found")]) == ([], [2])


def test_calls_of_tools_are_read_in_every_shape():
    """Anthropic's and OpenAI's; what is long is left out whole, as half of a secret could not be
    told.
    """
    anthropic = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "ok"},
            {
                "type": "tool_use",
                "name": "Bash",
                "input": {"command": "ls", "big": "x" * 5_000, "deep": {"a": 1}},
            },
        ],
    }
    openai = {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"function": {"name": "Bash", "arguments": '{"command": "ls"}'}},
            {"function": {"name": "Odd", "arguments": "{"}},
        ],
    }

    assert (
        split_message(anthropic, 0)[0].text
        == 'ok\n[Bash {"command": "ls", "big": "…", "deep": "…"}]'
    )
    assert split_message(openai, 0)[0].text == '[Bash {"command": "ls"}]\n[Odd {}]'


# Whatever is said

WORDS = st.sampled_from(
    [
        "never",
        "always",
        "remember",
        "that",
        "we",
        "use",
        "decided",
        "no,",
        "the",
        "staging",
        "is",
        "`x`",
        "i",
        "prefer",
        "from now on",
        "\n",
        '"',
        ".",
        "<a-b>",
        "</a-b>",
        "```",
        "it's",
        "2",
        "lives in",
    ]
)
TEXT = st.one_of(st.text(max_size=300), st.lists(WORDS, max_size=60).map(" ".join))


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool", ""]), TEXT), max_size=8))
def test_extraction_never_fails_on_any_text(messages):
    """It never fails; nothing is longer than LONGEST, no place is made up, and only words of the
    input are used.
    """
    gained = extract_lessons(messages)
    spoken = "".join(
        "".join(text.replace("’", "'").replace("‘", "'").split()) for _, text in messages
    ).lower()
    for found in gained.lessons:
        assert 0 <= found.first <= found.last < len(messages)
        assert found.kind in KINDS
        assert len(found.text) <= MAX_LESSON_CHARS * (2 if found.kind == "learning" else 1)
        if found.provenance == "user_stated":
            own = "".join(found.text.split()).lower()
            assert own in spoken or own.replace(".", "") in spoken.replace(".", "")
    assert all(
        isinstance(one, RejectedCandidate) and one.reason and len(one.text) <= MAX_LESSON_CHARS
        for one in gained.rejected
    )
    assert extract_lessons(messages) == gained


@given(TEXT)
def test_each_step_of_extraction_takes_any_text(text):
    """Extracting files, triggers, tags and sentences raises for no text."""
    assert all(name in text for name in find_file_names(text))
    assert all(
        one in text
        or one in ("git push", "git commit", "git rebase", "git merge", "deploy", "push --force")
        for one in derive_triggers(text)
    )
    assert (
        find_error_fixes(
            [("assistant", text), ("tool", text), ("assistant", text), ("tool", "ok")]
        )[1]
        is not None
    )
