"""A second set, written after the rules had been mended for `heldout` and before it was run: how
far do rules carry?

Other issuers and phrasings than in `cases` and `heldout`, and identifiers that services write as
they write secrets.
"""

from __future__ import annotations

import random

from bench.privacy.cases import ALNUM, HEX, UPPER, URL64, Case, Piece, draw
from bench.privacy.heldout import LOWER

SHAPES: dict[str, list[Piece]] = {
    "adafruit": ["ai", "o_", (ALNUM, 28)],
    "adobe": ["p8", "e-", (LOWER, 32)],
    "airbyte-like-fivetran": ["Basic ", (ALNUM, 44)],
    "aws-session": ["IQoJ", "b3JpZ2luX2Vj", (ALNUM, 200)],
    "beamer": ["b", "_", (URL64, 44)],
    "brex": ["bx", "t_", (ALNUM, 36)],
    "dhl-like-doppler-cli": ["dp", ".ct.", (ALNUM, 44)],
    "digitalocean-refresh": ["dor", "_v1_", (HEX, 64)],
    "dynatrace": ["dt0", "c01.", (UPPER, 24), ".", (UPPER, 64)],
    "gitea-like-gocardless": ["live", "_", (URL64, 40)],
    "gitlab-deploy": ["gl", "dt-", (URL64, 20)],
    "google-refresh": ["1/", "/0", (URL64, 60)],
    "grafana-cloud": ["gl", "c_", (ALNUM, 80)],
    "hubspot": [
        "pat",
        "-na1-",
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
    "intercom": ["dG9", "rOg", (ALNUM, 54)],
    "linear-oauth": ["lin", "_oauth_", (HEX, 64)],
    "microsoft-teams": [
        "https://x.webhook",
        ".office.com/webhookb2/",
        (HEX, 36),
        "@",
        (HEX, 36),
        "/IncomingWebhook/",
        (HEX, 32),
    ],
    "new-relic": ["NR", "AK-", (UPPER, 27)],
    "openai-admin": ["sk-", "admin-", (URL64, 60)],
    "perplexity": ["pp", "lx-", (ALNUM, 48)],
    "planetscale": ["pscale", "_tkn_", (ALNUM, 43)],
    "postman": ["PM", "AK-", (HEX, 24), "-", (HEX, 34)],
    "pulumi": ["pu", "l-", (HEX, 40)],
    "rapidapi": [(HEX, 10), "msh", (HEX, 15), "p1", (HEX, 6), "jsn", (HEX, 12)],
    "sendinblue": ["xkey", "sib-", (HEX, 64), "-", (ALNUM, 16)],
    "shopify-secret": ["shp", "ss_", (HEX, 32)],
    "square": ["sq0", "atp-", (URL64, 22)],
    "tailscale": ["tskey", "-auth-", (ALNUM, 17), "-", (ALNUM, 32)],
    "terraform": [(ALNUM, 14), ".atlas", "v1.", (URL64, 64)],
    "zapier-like-stytch": ["secret", "-live-", (URL64, 36)],
}
CARRIERS = (
    "conn.setToken('{}')",
    "[2026-02-03 04:05:06] WARN retry with {} (3)",
    "export default {{ t: `{}` }}",
    "我的凭证 {} 还能用吗？",
)
PASSWORDS = ("Gr33n-Lampe", "m0nsoon!Delta", "P4perTiger", "8walls&Doors")
PHRASES = (
    "the root password on that box is {}",
    "use {} as the password",
    "psql: password for ann was {} all along",
    '<password type="text">{}</password>',
    "PASS={}",
    "db.password: '{}'",
    "passwd: {}",
    "sqlcmd -S db -U sa -P {}",
    "sftp://ann:{}@files.example:22/x",
    "MYSQL_ROOT_PASSWORD: {}",
    "redis-cli -a {} ping",
    "rabbitmqctl add_user ann {}",
    "wachtwoord: {}",
    "hasło: {}",
    'senha = "{}"',
    "unlock with passphrase {}",
    '{{"username":"ann","password":"{}"}}',
    'config.password = "{}"',
    "--db-password={}",
    "vpn: ann / {}",
)


def secrets(seed: int = 211) -> list[Case]:
    """Every shape in one carrier, every phrase once."""
    rng = random.Random(seed)
    made = [
        (kind, "".join(p if isinstance(p, str) else draw(rng, *p) for p in pieces))
        for kind, pieces in SHAPES.items()
    ]
    cases = [
        Case(
            kind,
            CARRIERS[n % 4].format(one),
            one.removeprefix("Basic ").rpartition("/webhookb2/")[2],
        )
        for n, (kind, one) in enumerate(made)
    ]
    return cases + [
        Case("password: " + phrase, phrase.format(word := rng.choice(PASSWORDS)), word)
        for phrase in PHRASES
    ]


def lookalikes(seed: int = 223) -> list[str]:
    """Identifiers that services write as they write secrets, and other text that must come back
    untouched.
    """
    rng = random.Random(seed)
    made = []
    for _ in range(3):
        made += [
            f"toolu_01{draw(rng, ALNUM, 22)}",
            f"msg_01{draw(rng, ALNUM, 22)}",
            f"call_{draw(rng, ALNUM, 24)}",
            f"chatcmpl-{draw(rng, ALNUM, 29)}",
            f"req_{draw(rng, HEX, 32)}",
            f"cus_{draw(rng, ALNUM, 14)}",
            f"pi_{draw(rng, ALNUM, 24)}",
            f"price_1{draw(rng, ALNUM, 23)}",
            f"file-{draw(rng, ALNUM, 24)}",
            f"asst_{draw(rng, ALNUM, 24)}",
            f"mem_01{draw(rng, '0123456789abcdefghjkmnpqrstvwxyz', 24)}",
            f"prj_{draw(rng, ALNUM, 28)}",
            f"dpl_{draw(rng, ALNUM, 28)}",
            f"evt_{draw(rng, ALNUM, 24)}",
            f"docker run -d --name web_{draw(rng, LOWER, 8)} nginx:1.25@sha256:{draw(rng, HEX, 64)}",
            f"key {draw(rng, HEX, 40)} not in cache",
            f"token {draw(rng, HEX, 40)[:12]} of the lexer",
            f"client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t{draw(rng, ALNUM, 120)}",
            f"main.c:1234:12:warning:{draw(rng, LOWER, 5)}",
            f"npm:{draw(rng, LOWER, 8)}@1.2.3",
        ]
    return [
        *made,
        "mail ann:Work2 @ the office",
        "cc: Bob2@example.com",
        "image registry.example:5000/app:V2b@sha256",
        "password – see the wiki",
        "the password is not needed",
        "Passwort ist falsch",
        "user ann, password unknown",
        "login, password and token",
        "secret Santa2024 party",
        "the key ConfigurationPropertyName2Mapper is unknown",
        'value = "x" default = "y"',
        "IDENTIFIED BY :password",
        "ALTER USER ann WITH PASSWORD %s",
        "echo done | sudo tee x",
        "SSWS is a scheme",
        "sk_buff handling",
        "re_escape",
        "as-built",
        "fc-list",
        "API-GATEWAY-RESPONSE-TIMEOUT-MS",
        '"auth": "required"',
        '"auth": "token"',
        "AUTH PLAIN is off",
    ]
