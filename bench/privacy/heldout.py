"""Cases that the rules were not made from: written from issuers' public formats before `redact` was
run on any of them.

What `redact` made of them at the first look stands in `FIRST_LOOK` and is reported beside what it
makes of them now. Formats are those that issuers document (Cloudflare's `cfut_` with 40 characters
and a checksum, GitHub's stateless `ghs_` tokens with two dots, and so on); carriers are those in
which people paste secrets to an assistant.
"""

from __future__ import annotations

import base64
import json
import random
import string

from bench.privacy.cases import ALNUM, B64, HEX, UPPER, URL64, Case, Piece, draw

LOWER = string.ascii_lowercase + string.digits
BASE32 = string.ascii_uppercase + "234567"
DIGITS = string.digits

SHAPES: dict[str, list[Piece]] = {
    "cloudflare-user": ["cf", "ut_", (ALNUM, 48)],
    "cloudflare-account": ["cf", "at_", (ALNUM, 48)],
    "cloudflare-global": ["cf", "k_", (ALNUM, 48)],
    "cloudflare-origin-ca": ["v1.0", "-", (HEX, 24), "-", (HEX, 146)],
    "github-stateless": ["gh", "s_", (URL64, 40), ".", (URL64, 220), ".", (URL64, 86)],
    "heroku": ["HRKU", "-AA", (URL64, 58)],
    "netlify": ["nf", "p_", (ALNUM, 36)],
    "vercel": ["vc", "p_", (ALNUM, 56)],
    "render": ["rn", "d_", (ALNUM, 32)],
    "buildkite": ["bk", "ua_", (HEX, 40)],
    "circleci": ["CCI", "PAT_", (ALNUM, 22), "_", (HEX, 40)],
    "sonar-user": ["sq", "u_", (HEX, 40)],
    "sonar-project": ["sq", "p_", (HEX, 40)],
    "sourcegraph": ["sg", "p_", (HEX, 16), "_", (HEX, 40)],
    "artifactory-key": ["AK", "Cp", (ALNUM, 69)],
    "artifactory-reference": ["cmVm", "dGtu", (ALNUM, 56)],
    "nuget": ["oy", "2", (LOWER, 43)],
    "clojars": ["CLO", "JARS_", (LOWER, 60)],
    "hex-pm": ["hexpm", "_api_", (LOWER, 40)],
    "mapbox": ["sk", ".eyJ1I", (URL64, 80), ".", (URL64, 22)],
    "dropbox": ["sl", ".u.", (URL64, 140)],
    "box-dev": ["box", "_dev_", (ALNUM, 40)],
    "typeform": ["tf", "p_", (URL64, 44), "_", (ALNUM, 14)],
    "asana": [("123456789", 1), "/", (DIGITS, 16), "/", (DIGITS, 16), ":", (HEX, 32)],
    "okta": ["SS", "WS 00", (URL64, 40)],
    "duffel": ["duffel", "_live_", (URL64, 43)],
    "shippo": ["shippo", "_live_", (HEX, 40)],
    "easypost": ["EZ", "AK", (ALNUM, 54)],
    "razorpay": ["rzp", "_live_", (ALNUM, 14)],
    "flutterwave": ["FLW", "SECK-", (HEX, 32), "-X"],
    "plaid": [
        "access",
        "-production-",
        (HEX, 8),
        "-",
        (HEX, 4),
        "-",
        (HEX, 4),
        "-",
        (HEX, 4),
        "-",
        (HEX, 12),
    ],
    "frameio": ["fio", "-u-", (URL64, 64)],
    "prefect": ["pn", "u_", (ALNUM, 36)],
    "readme": ["rd", "me_", (LOWER, 70)],
    "rubygems-like-scaleway": ["SCW", (UPPER, 17)],
    "yandex-iam": ["t1.", (URL64, 60), ".", (URL64, 86)],
    "yandex-cloud": ["AQ", "VN", (URL64, 36)],
    "resend": ["re", "_", (ALNUM, 8), "_", (ALNUM, 24)],
    "elevenlabs": ["sk", "_", (HEX, 48)],
    "deepseek": ["sk", "-", (HEX, 32)],
    "anyscale": ["es", "ecret_", (ALNUM, 26)],
    "cohere-like-jina": ["ji", "na_", (ALNUM, 60)],
    "firecrawl": ["f", "c-", (HEX, 32)],
    "exa-like-e2b": ["e2", "b_", (HEX, 40)],
    "modal": ["a", "s-", (ALNUM, 22)],
    "infracost": ["i", "co-", (ALNUM, 32)],
    "octopus": ["AP", "I-", (UPPER, 26)],
    "posthog": ["ph", "x_", (ALNUM, 43)],
    "supabase-jwt-like-turso": ["ey", "JhbGciOiJFZERTQSJ9.ey", "J", (URL64, 60), ".", (URL64, 86)],
    "neon": ["nap", "i_", (LOWER, 64)],
    "aiven": ["AV", "NS_", (ALNUM, 19)],
    "confluent": ["cf", "lt", (B64, 60)],
    "datadog-app": ["dd", "app_", (ALNUM, 36)],
    "launchdarkly": [
        "sd",
        "k-",
        (HEX, 8),
        "-",
        (HEX, 4),
        "-",
        (HEX, 4),
        "-",
        (HEX, 4),
        "-",
        (HEX, 12),
    ],
    "azure-devops": [(ALNUM, 52), "JQQJ99", (UPPER, 18), "AZ", "DO", (ALNUM, 4)],
    "amazon-mws": [
        "amzn",
        ".mws.",
        (HEX, 8),
        "-",
        (HEX, 4),
        "-",
        (HEX, 4),
        "-",
        (HEX, 4),
        "-",
        (HEX, 12),
    ],
    "slack-app": ["xa", "pp-1-", (UPPER, 10), "-", (DIGITS, 12), "-", (HEX, 64)],
    "twitch-like-mailersend": ["ml", "sn.", (HEX, 64)],
    "gitlab-pipeline": ["gl", "ptt-", (HEX, 40)],
    "aws-bedrock": ["AB", "SK", (B64, 110)],
}
CARRIERS = (
    'const client = new Client({{ auth: "{}", timeout: 30 }});',
    '{{"level":"error","msg":"request failed","req":{{"headers":{{"x-auth":"{}"}}}}}}',
    "-  old value\n+  use {} from now on",
    "| staging | {} | ask Ann |",
    "디버그용 키는 {} 입니다.",
    "auth:\n  mode: static\n  value: {}\n",
)
PASSWORDS = ("Sommer2024!", "k1tt3n-Parade", "qX7#mm2Lp", "correctHorse9", "Fl4mingo$Run")
PHRASES = (
    "PGPASSWORD={} psql -h db -U ann shop",
    "db.internal:5432:shop:ann:{}",
    "spring.datasource.password={}",
    '<add key="DbPassword" value="{}" />',
    "jdbc:postgresql://db/shop?user=ann&password={}",
    '<property name="password" value="{}"/>',
    "ALTER USER ann WITH PASSWORD '{}';",
    "CREATE USER 'ann'@'%' IDENTIFIED BY '{}';",
    "gpg --batch --passphrase {} -d x.gpg",
    "openssl rsa -in k.pem -passin pass:{}",
    '$p = ConvertTo-SecureString "{}" -AsPlainText -Force',
    "ansible_password: {}",
    "ansible_become_pass={}",
    "bindpw {}",
    'wpa_passphrase="{}"',
    "net use Z: \\\\srv\\share /user:ann {}",
    "das Passwort lautet {}",
    "le mot de passe est {}",
    "la contraseña es {}",
    "登录密码为：{}",
    "パスワードは「{}」です",
    "비밀번호는 {} 입니다",
    "пароль — {}",
    "user ann, password {}",
    "login: ann / password: {}",
    "creds are ann:{}@db.internal",
    "pass is {} btw",
    "kubectl create secret generic db --from-literal=password={}",
    "az login -u ann@x.example -p {}",
    "docker login -u ann -p {} registry.example",
    'variable "db_password" {{\n  default = "{}"\n}}',
    'IDENTIFIED BY "{}"',
    'smtp_pass = "{}"',
    "keystore.pass={}",
    "DATABASE_URL=postgres://ann:{}@db/shop",
    "ftp://ann:{}@files.example/x",
    '{{"auth": {{"user": "ann", "pass": "{}"}}}}',
    '"password":"{}","remember":true',
    "Enter password for ann: {}",
    "echo '{}' | sudo -S apt update",
    "my wifi password: {}",
    "root:{}@10.0.0.4",
)
TOKENS = (
    "RAILS_MASTER_KEY={}",
    "DJANGO_SECRET_KEY='{}'",
    "JWT_SECRET: {}",
    "NEXTAUTH_SECRET={}",
    "x-auth-token: {}",
    "X-Vault-Token: {}",
    "PRIVATE-TOKEN: {}",
    "Authorization: ApiKey {}",
    'Authorization: Token token="{}"',
    'curl -H "apikey: {}" https://x',
    "DD_API_KEY={}",
    "algolia_admin_key: {}",
    '{{"private_key_id": "x", "client_secret": "{}"}}',
    "refresh_token={}&grant_type=refresh_token",
    '"id_token": "{}"',
    "session_token: {}",
    'secret_access_key = "{}"',
    "machine api.x.example login token password {}",
    "bot token {} for the alerts channel",
    "WEBHOOK_SIGNING_SECRET={}",
    "the API token is `{}`",
    "api-token={}",
    "SLACK_SIGNING_SECRET={}",
    'consumer_secret: "{}"',
    "otpauth://totp/x:ann?secret={}&issuer=x",
    "ACCESS_KEY={}",
    "deploy key: {}",
    'sas_token = "{}"',
    "PrivateKey = {}",
    "PresharedKey = {}",
    "client-key-data: {}",
    '"auth": "{}"',
    "_password={}",
)


def secrets(seed: int = 101) -> list[Case]:
    """Every new shape in two carriers, every phrase once, and secrets that come encoded."""
    rng = random.Random(seed)
    cases: list[Case] = []
    for place, (kind, pieces) in enumerate(SHAPES.items()):
        for step in (0, 3):
            made = "".join(p if isinstance(p, str) else draw(rng, *p) for p in pieces)
            carrier = CARRIERS[(place + step) % len(CARRIERS)]
            cases.append(Case(kind, carrier.format(made), made.removeprefix("SSWS ")))
    cases += [
        Case("password: " + phrase, phrase.format(made := rng.choice(PASSWORDS)), made)
        for phrase in PHRASES
    ]
    cases += [
        Case("token: " + phrase, phrase.format(made := draw(rng, ALNUM, 40)), made)
        for phrase in TOKENS
    ]
    return cases + _encoded(rng)


def _encoded(rng: random.Random) -> list[Case]:
    """What holds a secret in another writing: base64 in manifests, hashes of passwords, keys of
    VPNs.
    """

    def b64(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    word, wire = "Fl4mingo$Run", draw(rng, B64, 43) + "="
    pem = b64("-----BEGIN RSA PRIVATE" + " KEY-----\n" + draw(rng, B64, 64) + "\n")
    docker = b64("ann:" + word)
    apr = "$apr1$" + draw(rng, ALNUM, 8) + "$" + draw(rng, ALNUM, 22)
    shadow = "$6$" + draw(rng, ALNUM, 16) + "$" + draw(rng, ALNUM, 86)
    return [
        Case("k8s-secret", f"kind: Secret\ndata:\n  password: {b64(word)}\n", b64(word)),
        Case("kubeconfig", f"    client-key-data: {pem}", pem),
        Case("pem-in-base64", f"SSH_KEY_B64={pem}", pem),
        Case("docker-auth", json.dumps({"auths": {"r.example": {"auth": docker}}}), docker),
        Case("wireguard", f"[Interface]\nPrivateKey = {wire}\nAddress = 10.0.0.2/24", wire),
        Case("htpasswd", f"ann:{apr}", apr),
        Case("shadow", f"ann:{shadow}:19700:0:99999:7:::", shadow),
        Case(
            "smtp-auth",
            f"C: AUTH PLAIN {b64(chr(0) + 'ann' + chr(0) + word)}",
            b64(chr(0) + "ann" + chr(0) + word),
        ),
        Case("npmrc-password", f"//npm.example/:_password={b64(word)}", b64(word)),
        Case(
            "url-encoded",
            "https://x.example/cb?client_secret=" + (made := draw(rng, ALNUM, 32)) + "%3D",
            made,
        ),
    ]


def lookalikes(seed: int = 103) -> list[str]:
    """What must come back untouched."""
    rng = random.Random(seed)
    made: list[str] = []
    for _ in range(4):

        def hexes(length: int) -> str:
            return draw(rng, HEX, length)

        uuid = "-".join(hexes(n) for n in (8, 4, 4, 4, 12))
        made += [
            f'+ resolved "https://registry.yarnpkg.com/a/-/a-1.0.2.tgz#{hexes(40)}"',
            f"golang.org/x/net v0.1.0 h1:{draw(rng, B64, 43)}=",
            f'checksum = "{hexes(64)}"',
            f"    --hash=sha256:{hexes(64)}",
            f"index {hexes(7)}..{hexes(7)} 100644",
            f"Merge {hexes(8)} into {hexes(8)}",
            f"container {hexes(12)} exited with 0",
            f"i-0{hexes(16)} is running",
            f'ObjectId("{hexes(24)}")',
            f'data-testid="btn-{draw(rng, LOWER, 6)}"',
            f"/_next/static/chunks/{hexes(16)}.js",
            f"key={uuid}",
            f"src: url(data:font/woff2;base64,d09GMgAB{draw(rng, B64, 120)})",
            f'"mappings":"AAAA,CAAC,{draw(rng, ALNUM, 24)};{draw(rng, ALNUM, 24)}"',
            f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5{draw(rng, B64, 48)} ann@laptop",
            f"traceparent: 00-{hexes(32)}-{hexes(16)}-01",
            f"01J{draw(rng, '0123456789ABCDEFGHJKMNPQRSTVWXYZ', 23)}",
            f'"cacheKey": "{hexes(32)}"',
            "pk" + f"_live_{draw(rng, ALNUM, 24)}",
            f'W/"{hexes(2)}-{draw(rng, B64, 27)}"',
            f"Subproject commit {hexes(40)}",
            f"uses: actions/checkout@{hexes(40)}",
            f'd="M{rng.randrange(99)}.{rng.randrange(9)} {rng.randrange(99)}c-.6.1-1.1.5-1.4 1l-.3.8H{rng.randrange(99)}z"',
            f"nonce-{draw(rng, B64, 22)}==",
            f"arn:aws:lambda:eu-west-1:123456789012:function:mail-{draw(rng, LOWER, 5)}",
            f".css-{draw(rng, LOWER, 6)}{{color:#{hexes(6)}}}",
        ]
    return made + list(PLAIN)


PLAIN: tuple[str, ...] = (
    "password: {{ .Values.db.password }}",
    "password: !Ref DbPassword",
    "password = var.db_password",
    'api_key = os.getenv("API_KEY")',
    'const key = process.env["STRIPE_KEY"]',
    "ENV['SECRET_KEY_BASE']",
    'System.getenv("DB_PASSWORD")',
    "password: ENC(AbC)",
    "token: op://vault/item/token",
    "secretKeyRef:\n  name: db\n  key: password",
    '"password": {"type": "string", "minLength": 8}',
    '"password": "Passwort"',
    '"token": "Zeichen"',
    "password: z.string().min(8)",
    "password: Mapped[str] = mapped_column()",
    "password VARCHAR(255) NOT NULL",
    "user.password_digest",
    "has_secure_password",
    "def test_password_is_hashed():",
    "it('rejects a wrong password', async () => {",
    "--password-stdin",
    "git config credential.helper store",
    'token := r.Header.Get("X-Token")',
    "if token != expected {",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer ${TOKEN}",
    "Authorization: Bearer <token>",
    'curl -u "$USER:$PASS" https://x',
    '-H "Authorization: token $GITHUB_TOKEN"',
    "https://$USER:$TOKEN@git.example/x",
    "postgres://user:pass@localhost:5432/db",
    "redis://localhost:6379/0",
    "eyJhbGci...",
    "sk_test_...",
    "pk_test_xxxxx",
    "gh" + "p_xxxxxxxxxxxxxxxxxxxx",
    "sk-your-key-here",
    "<YOUR_API_KEY>",
    "API_KEY=changeme",
    'export TOKEN=""',
    "SECRET=",
    "PASSWORD=\n",
    "token_limit=8192",
    '"total_tokens": 1523, "prompt_tokens": 1200',
    "max_new_tokens=512",
    "tokens per second: 84.2",
    "token: 15,000 of 200,000",
    "pad_token_id=50256",
    "eos_token: </s>",
    "secret_santa: Ann and Bob",
    "the secret is out",
    "it is no secret that tests are slow",
    "keyring",
    "keystore: /etc/app/keystore.jks",
    "passphrase: none",
    "What is your password policy?",
    "we rotate the password every 90 days",
    "password managers are allowed",
    "Password must contain a digit.",
    "wrong password, try again",
    "le mot de passe est obligatoire",
    "das Passwort muss acht Zeichen haben",
    "密码错误，请重试",
    "パスワードが正しくありません",
    "비밀번호를 입력하세요",
    "неверный пароль",
    "session: morning",
    "cookie: enabled",
    "auth: oauth2",
    "author: ann",
    '"auth": true',
    '"auth": "basic"',
    'auth_type = "iam"',
    "pin: 2 of 4",
    "zip code 90210, room 1234",
    "PrivateKey interface of java.security",
    "PublicKey = ${SERVER_PUBLIC_KEY}",
    "-----BEGIN PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----",
    "ssh-keygen -t ed25519 -C ann",
    "access_key_id and secret_access_key are read from the profile",
    "AWS_PROFILE=staging",
    'aws_region = "eu-central-1"',
    "role_arn = arn:aws:iam::123456789012:role/deploy",
    "function t(e,n){return e&&n?r(e,n):void 0}var o={a:1,b:2}",
    '!function(e,t){"object"==typeof exports?module.exports=t():e.x=t()}(this,function(){})',
    "background:url(img/a.png) no-repeat 0 0;margin:0 auto!important",
    "grid-template-columns: repeat(auto-fill, minmax(12rem, 1fr))",
    'class="flex items-center justify-between px-4"',
    "regex: ^sk-[A-Za-z0-9]{48}$",
    'r"gh[pousr]_[A-Za-z0-9]{36}"',
    "AKIA[0-9A-Z]{16}",
    "xox[baprs]-",
    "prefix `npm_` is reserved",
    "ids look like `re_123`",
    "as-of",
    "fc-cache -f",
    "api-docs/v2",
    "sl.exe",
    "t1.micro",
    "e2b",
    "pnu_",
    "cfk",
    "sdk-core-2.1",
    "sdk-java-1.12.400",
    "rnd_seed=42",
    "re_compile_pattern",
    "API-FIRST-DESIGN",
    "SCW_DEFAULT_REGION",
)
