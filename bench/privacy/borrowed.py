"""Secrets as two other projects' test suites write them, with secrets of our own making.

gitleaks (MIT) writes a name and a secret in some thirty ways, one for each language or format, for
each of its rules; trufflehog (AGPL, so no sample of it is here) writes logs, Jenkins' XML, JSON and
code. The ways below are told in our words, the names and lengths are facts of the issuers. What the
projects' own samples give is measured with `--folder` and kept as figures only.
"""

from __future__ import annotations

import random

from bench.privacy.cases import ALNUM, HEX, URL64, Case, draw

LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"
DIGITS = "0123456789"
UUID = "uuid"

# How a name ({n}, {N} in capitals) and a secret ({s}) are written: settings, data, code.
WAYS = (
    '{n}Token="{s}"',
    '{n}Token = "{s}"',
    "{n}Token={s}",
    "{n}Token = {s}",
    '{{\n    "{n}_token": "{s}"\n}}',
    '\\{{\n    \\"{n}_token\\": \\"{s}\\"\n\\}}',
    "<{n}Token>{s}</{n}Token>",
    "<{n}Token>\n    {s}\n</{n}Token>",
    "{n}_token: {s}",
    "{n}_token: '{s}'",
    '{n}_token: "{s}"',
    "{n}_token: |\n  {s}",
    "{n}_token: >\n  {s}",
    'string {n}Token = "{s}";',
    'var {n}Token string = "{s}"',
    '{n}Token := "{s}"',
    "{n}Token := `{s}`",
    'var {n}Token = "{s}"',
    '${n}Token .= "{s}"',
    "{n}Token = '{s}'",
    "{n}Token,{s},",
    '  "{n}Token" => "{s}"',
    '{N}_TOKEN := "{s}"',
    '{N}_TOKEN ::= "{s}"',
    '{N}_TOKEN :::= "{s}"',
    '{N}_TOKEN ?= "{s}"',
    '{N}_TOKEN += "{s}"',
    '{n}_api_token = "{s}"',
    'const {n}Key = "{s}"',
    '{n}_key: "{s}"',
    "{N}_KEY={s}",
    '{n}ClientSecret = "{s}"',
)
# A log, a store of credentials, a test's settings, code: a random string beside an issuer's name.
STORIES = (
    "[INFO] Sending request to the {n} API\n[DEBUG] Using Key={s}\n[INFO] Response received: 200 OK\n",
    "[INFO] Sending request to {n} API\n[DEBUG] Using API_KEY={s}\n[INFO] Response received: 200 OK\n",
    "<com.cloud.credentials.StringCredentials>\n  <scope>GLOBAL</scope>\n  <id>{{{n}}}</id>\n"
    "  <secret>{{{n} BQAACBAAA {s}}}</secret>\n  <owner>ops</owner>\n</com.cloud.credentials>\n",
    '[{{\n  "name": "{n}",\n  "type": "Detector",\n  "url": "https://api.example.com/v1",\n'
    '  "test_secrets": {{\n    "{n}_secret": "{s}"\n  }},\n  "method": "GET"\n}}]',
    "{n} token = '{s}'",
    "{n} token = '{s}' | '{s}'",
    "{n} = '{s}'\n# the {n} secret is {s}",
    "# some code\ndata := load(ctx)\n{n}APIKey := {s}\n{n}Domain := acme.{n}.com\n",
    'func main() {{\n  {n}ApiKey := "{s}"\n  req.Header.Set("x-api-key", {n}ApiKey)\n}}',
    "You can find a {n} secret {s} within",
    "{n} credentials: {s}",
    'client = {n}.Client("{s}")  # {n} api key',
    'curl -H "X-Api-Key: {s}" https://api.{n}.com/v1/me',
    'curl -H "Authorization: {s}" https://api.{n}.com/v1/me',
    "https://api.{n}.com/v1/data?api_key={s}&format=json",
    "https://api.{n}.com/v1/data?key={s}",
    "https://api.{n}.com/v1/{s}/data\n{n}_token={s}",
    "- name: {n}\n  auth:\n    apiKey: {s}\n",
)
# Issuers whose secrets have no prefix: what they are made of, and how long they are.
PLAIN = {
    "adafruit": (LOWER, 32), "algolia": (LOWER, 32), "alibaba": (LOWER, 30), "asana": (LOWER, 32),
    "bittrex": (LOWER, 32), "cohere": (ALNUM, 40), "confluent": (LOWER, 16), "datadog": (LOWER, 40),
    "discord": (HEX, 64), "dropbox": (LOWER, 15), "etsy": (LOWER, 24), "facebook": (HEX, 32),
    "fastly": (URL64, 32), "finnhub": (LOWER, 20), "freshbooks": (LOWER, 64), "gitter": (URL64, 40),
    "heroku": (UUID, 36), "hubspot": (UUID, 36), "intercom": (URL64, 60), "kucoin": (HEX, 24),
    "linkedin": (LOWER, 16), "mattermost": (LOWER, 26), "messagebird": (LOWER, 25),
    "meraki": (HEX, 40), "nytimes": (URL64, 32), "plaid": (LOWER, 30), "rapidapi": (URL64, 50),
    "sendbird": (UUID, 36), "squarespace": (UUID, 36), "travis": (LOWER, 22), "twitch": (LOWER, 30),
    "twitter": (LOWER, 45), "zendesk": (LOWER, 40), "snyk": (UUID, 36), "kraken": (ALNUM, 84),
    "airbrake": (HEX, 40), "weatherly": (HEX, 32), "routes": (LOWER, 20), "mailer": (ALNUM, 27),
    "scrape": (ALNUM, 17), "stocks": (LOWER, 26), "chat": (ALNUM, 64), "pages": (URL64, 43),
}  # fmt: skip
SHAPES = PLAIN


def _made(rng: random.Random, alphabet: str, length: int) -> str:
    if alphabet == UUID:
        return "-".join(draw(rng, HEX, n) for n in (8, 4, 4, 4, 12))
    return draw(rng, alphabet, length)


def secrets(seed: int = 17) -> list[Case]:
    """Each issuer written in each way."""
    rng = random.Random(seed)
    cases = []
    for ways, kind in ((WAYS, "ways"), (STORIES, "stories")):
        for name, (alphabet, length) in PLAIN.items():
            for way in ways:
                secret = _made(rng, alphabet, length)
                text = way.format(n=name, N=name.upper(), s=secret)
                cases.append(Case(f"{kind}: {way}", text, secret))
    return cases


def lookalikes() -> list[str]:
    """Random strings under names that are no secrets'."""
    rng = random.Random(18)
    digest, commit, uuid = draw(rng, HEX, 64), draw(rng, HEX, 40), _made(rng, UUID, 36)
    base = draw(rng, ALNUM + "+/", 86) + "=="
    return [
        f'"integrity": "sha512-{base}"',
        f'resolved "https://registry.yarnpkg.com/a/-/a-1.0.0.tgz#{commit}"',
        f'checksum = "{digest}"',
        f"commit {commit}",
        f"sha256:{digest}",
        f'hash = "{digest}"',
        f'"etag": "{draw(rng, HEX, 32)}"',
        f'cache_key = "{draw(rng, HEX, 32)}"',
        f"cacheKey: {draw(rng, HEX, 40)}",
        f'public_key = "{base}"',
        f"publicKey: '{base}'",
        f"partition_key={uuid}",
        f'primaryKey: "{uuid}"',
        f'idempotency_key: "{uuid}"',
        f'<li key="{uuid}">',
        f'id = "{uuid}"',
        f'request_id={uuid} trace_id={draw(rng, HEX, 32)}',
        f"session_id: {uuid}",
        f'<img src="data:image/png;base64,{base}">',
        f"docker pull app@sha256:{digest}",
        f"uses: actions/checkout@{commit}",
        f"index {commit[:7]}..{commit[7:14]} 100644",
        f'{{"version": 3, "mappings": "{base}"}}',
        f"The key {digest} is the digest of the file.",
        f'gist_id: {draw(rng, HEX, 32)}',
        f'object key uploads/{uuid}/photo.png was written',
    ]  # fmt: skip
