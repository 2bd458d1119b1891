"""Made-up secrets in true shapes, and the things that only look like secrets.

Every secret is drawn from a seeded generator and every prefix is written in two halves, so no file
here holds a string that a push-protection scanner would stop. A case knows the exact `secret`, so
"caught" means: gone from the result.
"""

from __future__ import annotations

import base64
import json
import random
import string
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits
URL64 = ALNUM + "_-"
B64 = ALNUM + "+/"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits


class Case(NamedTuple):
    kind: str
    text: str
    secret: str


def draw(rng: random.Random, alphabet: str, length: int) -> str:
    """Random, and never without a digit, an upper- and a lower-case letter where the alphabet has
    them.
    """
    for _ in range(200):
        made = "".join(rng.choice(alphabet) for _ in range(length))
        sorts = (str.isdigit, str.islower, str.isupper)
        if length < 8 or all(any(map(s, made)) for s in sorts if any(map(s, alphabet))):
            return made
    return made


# kind → pieces: a literal, or (alphabet, length) to draw. Literals are split so that they are no
# prefix by themselves.
Piece = str | tuple[str, int]
SHAPES: dict[str, list[Piece]] = {
    "anthropic-api": ["sk-", "ant-api03-", (URL64, 93), "AA"],
    "anthropic-oauth": ["sk-", "ant-oat01-", (URL64, 80)],
    "openai-project": ["sk-", "proj-", (URL64, 80)],
    "openai-service": ["sk-", "svcacct-", (URL64, 60)],
    "openai-old": ["sk-", (ALNUM, 48)],
    "openrouter": ["sk-", "or-v1-", (HEX, 64)],
    "github-classic": ["gh", "p_", (ALNUM, 36)],
    "github-oauth": ["gh", "o_", (ALNUM, 36)],
    "github-app": ["gh", "s_", (ALNUM, 36)],
    "github-fine": ["github", "_pat_", (ALNUM, 22), "_", (ALNUM, 59)],
    "gitlab": ["gl", "pat-", (URL64, 20)],
    "aws-id": ["AK", "IA", (string.ascii_uppercase + "234567", 16)],
    "aws-temporary": ["AS", "IA", (string.ascii_uppercase + "234567", 16)],
    "google-api": ["AI", "za", (URL64, 35)],
    "google-oauth": ["ya", "29.", (URL64, 60)],
    "google-client": ["GOC", "SPX-", (URL64, 28)],
    "slack-bot": ["xo", "xb-", ("0123456789", 12), "-", ("0123456789", 12), "-", (ALNUM, 24)],
    "slack-user": ["xo", "xp-", ("0123456789", 12), "-", (ALNUM, 32)],
    "slack-webhook": [
        "hooks.slack",
        ".com/services/T",
        (UPPER, 8),
        "/B",
        (UPPER, 8),
        "/",
        (ALNUM, 24),
    ],
    "stripe-live": ["sk", "_live_", (ALNUM, 24)],
    "stripe-restricted": ["rk", "_live_", (ALNUM, 24)],
    "stripe-test": ["sk", "_test_", (ALNUM, 24)],
    "npm": ["np", "m_", (ALNUM, 36)],
    "pypi": ["py", "pi-AgEIcHlwaS5vcmc", (URL64, 70)],
    "huggingface": ["h", "f_", (ALNUM, 34)],
    "telegram": [("123456789", 10), ":A", "A", (URL64, 33)],
    "discord": ["M", (ALNUM, 23), ".", (ALNUM, 6), ".", (URL64, 38)],
    "discord-webhook": [
        "https://discord.com/api",
        "/webhooks/",
        ("123456789", 18),
        "/",
        (URL64, 68),
    ],
    "twilio": ["S", "K", (HEX, 32)],
    "sendgrid": ["S", "G.", (URL64, 22), ".", (URL64, 43)],
    "mailgun": ["ke", "y-", (HEX, 32)],
    "mailchimp": [(HEX, 32), "-us", "14"],
    "digitalocean": ["dop", "_v1_", (HEX, 64)],
    "shopify": ["shp", "at_", (HEX, 32)],
    "databricks": ["da", "pi", (HEX, 32)],
    "vault": ["hv", "s.", (URL64, 90)],
    "age": ["AGE-SECRET", "-KEY-1", (UPPER, 58)],
    "jwt": ["ey", "J", (URL64, 20), ".ey", "J", (URL64, 40), ".", (URL64, 43)],
    "groq": ["gs", "k_", (ALNUM, 52)],
    "linear": ["lin", "_api_", (ALNUM, 40)],
    "grafana": ["gl", "sa_", (ALNUM, 32), "_", (HEX, 8)],
    "docker": ["dckr", "_pat_", (URL64, 27)],
    "sentry-dsn": [(HEX, 32)],
    "azure-client": [(ALNUM, 3), "8", "Q~", (ALNUM, 34)],
}
SETTINGS = (
    "{}",
    "here it is: {} (do not lose it)",
    '{{"value": "{}", "n": 1}}',
    "2026-01-02T03:04:05Z INFO client ready with {} after 3 tries",
    "部署时使用的是{}，请记住。",
)
PASSWORDS = ("Tr0ub4dor&3", "hunter2x9", "pW!9zz_Qk", "S3cure#Pass1", "zx81-Spectrum!")
WORDS_FOR_A_SECRET = (
    "password: {}",
    "password={}",
    "PASSWORD={}",
    "export DB_PASSWORD={}",
    "export API_KEY='{}'",
    '"password": "{}"',
    '{{"user": "ann", "passwd": "{}"}}',
    "  db_password: {}",
    "  - name: DB_PASSWORD\n    value: {}",
    "my password is {}",
    "The password for the router is {}.",
    "password = '{}'",
    'password := "{}"',
    "pwd={};Server=x",
    "Server=db;User Id=sa;Password={};Encrypt=true",
    "mysql -u root -p{} shop",
    "curl -u ann:{} https://x.example/api",
    "postgres://ann:{}@db.internal:5432/shop",
    "mysql://root:{}@10.0.0.5/shop",
    "mongodb+srv://app:{}@c0.example.net/",
    "redis://:{}@cache:6379/0",
    "amqp://guest2:{}@mq/",
    "https://ann:{}@git.internal/x.git",
    "--password {}",
    "--password={}",
    "<password>{}</password>",
    "密码：{}",
    "密码是{}",
    "パスワード: {}",
    "пароль: {}",
    "Passwort: {}",
    "contraseña: {}",
    '{{\\"password\\": \\"{}\\"}}',
    "machine x login ann password {}",
    "# .env\nA=1\nDB_PASS={}\nB=2",
    "**Password**: {}",
    "- password: `{}`",
    'setPassword("{}")',
    'os.environ["DB_PASSWORD"] = "{}"',
    'password: str = "{}"',
    "sshpass -p '{}' ssh ann@host",
)
WORDS_FOR_A_TOKEN = (
    "API_KEY={}",
    "api_key: {}",
    "api-key={}",
    "apikey = '{}'",
    '"apiKey": "{}"',
    '"access_token":"{}"',
    "auth_token={}",
    "client_secret={}",
    '  "client_secret" : "{}"',
    "SECRET_KEY={}",
    "SECRET_KEY_BASE={}",
    "export GITHUB_TOKEN={}",
    "AWS_SECRET_ACCESS_KEY={}",
    "aws_secret_access_key = {}",
    "X-API-Key: {}",
    "Authorization: Bearer {}",
    "authorization: token {}",
    "Cookie: sid={}",
    "Set-Cookie: session={}; Path=/; Secure",
    "curl -H 'Authorization: Bearer {}' https://x",
    "https://x.example/cb?access_token={}&state=1",
    'token = "{}"',
    "AccountKey={}",
    "private_key: {}",
    "webhook_secret: {}",
    "encryption_key={}",
    "the api key is {}",
    "//registry.npmjs.org/:_authToken={}",
    "https://x.blob.core.windows.net/c?sv=2022&sig={}",
    "?api_key={}",
    "set OPENAI_API_KEY={}",
    "ENV API_TOKEN={}",
    '$env:API_TOKEN="{}"',
    "token: |\n  {}",
    "令牌 token：{}",
)


def secrets(seed: int = 7) -> list[Case]:
    """Every shape in every setting, every phrase with made-up passwords and tokens, and the
    multi-line ones.
    """
    rng = random.Random(seed)
    cases: list[Case] = []
    for kind, pieces in SHAPES.items():
        for setting in SETTINGS:
            made = "".join(p if isinstance(p, str) else draw(rng, *p) for p in pieces)
            shown = f"https://{made}@o1.ingest.sentry.io/42" if kind == "sentry-dsn" else made
            hidden = made.rpartition("/services/")[2].rpartition("/webhooks/")[2]
            cases.append(Case(kind, setting.format(shown), hidden))
    for phrase in WORDS_FOR_A_SECRET:
        cases.append(
            Case("password: " + phrase, phrase.format(made := rng.choice(PASSWORDS)), made)
        )
    for phrase in WORDS_FOR_A_TOKEN:
        cases.append(Case("token: " + phrase, phrase.format(made := draw(rng, ALNUM, 40)), made))
    return cases + _blocks(rng)


def _blocks(rng: random.Random) -> list[Case]:
    cases = []
    for name in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "):
        lines = [draw(rng, B64, 64) for _ in range(6)] + [draw(rng, B64, 30) + "=="]
        begin, end = (f"-----{word} {name}PRIVATE" + " KEY-----" for word in ("BEGIN", "END"))
        block = "\n".join([begin, *lines, end])
        cases.append(Case(f"pem {name}", f"the key:\n{block}\nthanks", lines[3]))
        cases.append(
            Case(f"pem {name}json", json.dumps({"type": "service_account", "k": block}), lines[3])
        )
        cases.append(Case(f"pem {name}cut", f"{begin}\n" + "\n".join(lines[:4]), lines[3]))
    basic = base64.b64encode(("ann:" + draw(rng, ALNUM, 12)).encode()).decode()
    return [*cases, Case("basic", f"Authorization: Basic {basic}", basic)]


def lookalikes(seed: int = 11) -> list[str]:
    """What must come back untouched."""
    rng = random.Random(seed)
    made: list[str] = []
    for _ in range(8):
        sha, sha256 = draw(rng, HEX, 40), draw(rng, HEX, 64)
        uuid = "-".join(draw(rng, HEX, n) for n in (8, 4, 4, 4, 12))
        made += [
            f"fixed in commit {sha}",
            f"git checkout {sha[:9]}",
            f"sha256:{sha256}",
            f"image@sha256:{sha256}",
            f"request id {uuid}",
            f"session {uuid} ended",
            f'"integrity": "sha512-{draw(rng, B64, 86)}=="',
            f"![x](data:image/png;base64,iVBORw0KGgo{draw(rng, B64, 160)})",
            f'etag: "{draw(rng, HEX, 32)}"',
            f"color: #{draw(rng, HEX, 6)}; background: #{draw(rng, HEX, 3)}",
            f"cache_key: {sha256[:32]}",
            f"at 0x{draw(rng, HEX, 12)} in main",
            f"/nix/store/{draw(rng, HEX, 32)}-python3-3.11.7/bin/python3",
            f"dist/assets/index-{draw(rng, ALNUM, 8)}.js",
            f"trace_id={draw(rng, HEX, 32)} span_id={draw(rng, HEX, 16)}",
            f"order {rng.randrange(10**9, 10**10)}",
            f"ts={rng.randrange(1_600_000_000_000, 1_800_000_000_000)}",
        ]
    return made + list(PLAIN)


PLAIN: tuple[str, ...] = (
    "a risk-based approach",
    "the token bucket refills",
    "task-list and disk-usage",
    "sk-...",
    "sk-ant-...",
    "sk-xxxxxxxx",
    "API_KEY=YOUR_API_KEY",
    "API_KEY=<your key>",
    "api_key: xxxx",
    "token=<token>",
    "export API_KEY=...",
    "password: ****",
    "password: must be 8 characters",
    "password = getpass()",
    "token = get_token()",
    'api_key=os.environ["API_KEY"]',
    "token: str",
    "password: Optional[str] = None",
    "def login(user, password):",
    "connect(password=password)",
    "password = request.form['password']",
    "token = self.token",
    "secret = settings.SECRET_KEY",
    "api_key: ${API_KEY}",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "password: {{ vault_password }}",
    "PASSWORD=$DB_PASSWORD",
    "api_key=process.env.KEY",
    "The password is required.",
    "the token is expired",
    "your password is wrong",
    "password reset for Ann",
    "Password:",
    "Enter password: ",
    "passwords are hashed with argon2",
    "the token is base64 encoded",
    "max_tokens = 4096",
    "tokens: 128000",
    "token_count: 1234",
    "tokenizer: cl100k_base",
    "secretary: Anna Smith",
    "token_type: bearer",
    "password_reset_url=https://x.example/reset",
    "token_endpoint: https://x.example/oauth2/token",
    "secretName: db-tls",
    "secret: my-app-tls",
    "key: value",
    "primary_key: user_id",
    "public_key: user.pub",
    "author: Bob1234",
    "bypass: all",
    "compass: north1",
    "monkey: george1",
    "keyboard: qwerty123",
    "postgres://user:password@localhost/db",
    "https://user:<password>@host/",
    "https://example.com:8080/path?x=1",
    "mailto:ann@example.com",
    "ssh://git@github.com/x/y",
    "git@github.com:ann/reverie.git",
    "bearer authentication is used",
    "Bearer token",
    "Basic authentication",
    "the basic authorization header",
    "cookie: chocolate chip",
    "cookies are disabled",
    "Authorization header missing",
    "pins: 12",
    "pin: 12",
    "the pin is loose",
    "version 1.2.3-456-7890",
    "v2024.11.05",
    "192.168.100.200:8080",
    "12:34:56.789",
    "2026-01-02 03:04:05",
    "ISBN 978-3-16-148410-0",
    "call 4 people at 10:30",
    "12-34-5678",
    "AbstractSingletonProxyFactoryBeanInternalFrameworkCustomizer",
    "getPasswordResetTokenFromRequestHeaders()",
    "function a(b,c){var d=e(f,g);return h[i]}",
    "__webpack_require__(1234)",
    "x-amz-request-id",
    "src/auth/token.py:42",
    "see docs/secrets.md#rotation",
    "node_modules/.bin/eslint",
    "C:\\Users\\ann\\secrets.txt",
    "PWD=/home/ann/work",
    "pass: 12 fail: 3",
    "12 passed, 3 failed",
    "pass the salt",
    "a secret: nobody knows",
    "open secret",
    "token ring network",
    "lower-case words-with-dashes-that-go-on-and-on-for-a-while",
    "AKIAIOSFODNN7" + "EXAMPLE",
    "gh" + "p_" + "x" * 36,
    "the key insight is simple",
    "press any key: enter",
    "secret sauce = patience",
    'if password == "":',
    "password=None",
    "token = None",
    "api_key = null",
    '"password": ""',
    '"token": null',
    "password: string",
    "--password <password>",
    "use --token to pass one",
    "token in header",
    "const token = await getToken()",
    "let secret: String;",
    "pub api_key: &str,",
    "raise ValueError('password too short')",
    "SELECT password FROM users",
    "GRANT ALL IDENTIFIED BY '***'",
    "la contraseña es obligatoria",
    "密码必须至少八位",
    "パスワードを忘れた",
    "das Passwort ist falsch",
    "Ann prefers tabs",
)
