"""Secrets that begin as their issuer has them begin: one row each, for prefixes that nothing else
has.

From the issuers' public documentation. Identifiers are written the same way (`toolu_…`, `cus_…`,
`price_…`), so no rule can tell a secret by its having a prefix: each is named here.
"""

from __future__ import annotations

from typing import NamedTuple

ANY, LETTERS, HEX, LOW, UP = r"[A-Za-z0-9_-]", r"[A-Za-z0-9]", r"[a-f0-9]", r"[a-z0-9]", r"[A-Z0-9]"
_UUID = r"[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}"


class Issued(NamedTuple):
    """What is issued begins with one of `prefixes` (one word, or several) and goes on as `rest`
    says.
    """

    kind: str
    prefixes: str
    rest: str


ISSUED: tuple[Issued, ...] = (
    Issued("cloudflare-token", "cfut_ cfat_ cfk_", rf"{LETTERS}{{40,}}"),
    Issued("cloudflare-origin-key", "v1.0-", rf"{HEX}{{24}}-{HEX}{{100,}}"),
    Issued("github-token", "ghs_ ghu_", rf"{ANY}{{10,}}\.{ANY}{{20,}}\.{ANY}{{20,}}"),
    Issued("heroku-token", "HRKU-", rf"{ANY}{{36,}}"),
    Issued("netlify-token", "nfp_ nfc_ nfo_ nfu_ nfb_", rf"{LETTERS}{{36,}}"),
    Issued("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", rf"{LETTERS}{{24,}}"),
    Issued("render-key", "rnd_", rf"{LETTERS}{{28,}}"),
    Issued("buildkite-token", "bkua_ bkct_", rf"{LETTERS}{{40,}}"),
    Issued("circleci-token", "CCIPAT_ CCIPRJ_", rf"{LETTERS}{{20,}}_{HEX}{{40}}"),
    Issued("sonar-token", "squ_ sqp_ sqa_ sqb_", rf"{HEX}{{40}}"),
    Issued("sourcegraph-token", "sgp_", rf"(?:(?:{HEX}{{16}}|local)_)?{HEX}{{40}}"),
    Issued("artifactory-key", "AKCp", rf"{LETTERS}{{60,}}"),
    Issued("artifactory-token", "cmVmdGtu", rf"{LETTERS}{{50,}}"),
    Issued("nuget-key", "oy2", rf"{LOW}{{43}}(?!{LETTERS})"),
    Issued("clojars-token", "CLOJARS_", rf"{LETTERS}{{60}}"),
    Issued("hex-key", "hexpm_", rf"(?:api|repo|org)?_?{LOW}{{32,}}"),
    Issued("mapbox-token", "sk.eyJ", rf"{ANY}{{20,}}\.{ANY}{{20,}}"),
    Issued("dropbox-token", "sl.", rf"(?:u\.)?{ANY}{{100,}}"),
    Issued("box-token", "box_dev_", rf"{LETTERS}{{32,}}"),
    Issued("typeform-token", "tfp_", rf"{ANY}{{40,}}"),
    Issued("duffel-token", "duffel_live_ duffel_test_", rf"{ANY}{{40,}}"),
    Issued("shippo-token", "shippo_live_ shippo_test_", rf"{HEX}{{40}}"),
    Issued("easypost-key", "EZAK EZTK", rf"{LETTERS}{{54}}"),
    Issued("razorpay-key", "rzp_live_ rzp_test_", rf"{LETTERS}{{14,}}"),
    Issued("flutterwave-key", "FLWSECK-", rf"{LETTERS}{{32}}-X"),
    Issued("flutterwave-key", "FLWSECK_TEST-", rf"{LETTERS}{{32}}-X"),
    Issued("plaid-token", "access-production- access-sandbox- access-development-", _UUID),
    Issued("frameio-token", "fio-u-", rf"{ANY}{{60,}}"),
    Issued("prefect-key", "pnu_ pnb_", rf"{LETTERS}{{36}}"),
    Issued("readme-key", "rdme_", rf"{LOW}{{60,}}"),
    Issued("scaleway-key", "SCW", rf"{UP}{{17}}(?!{LETTERS})"),
    Issued("yandex-token", "t1.", rf"{ANY}{{40,}}={{0,2}}\.{ANY}{{80,}}={{0,2}}"),
    Issued("yandex-key", "AQVN", rf"{ANY}{{35,}}"),
    Issued("resend-key", "re_", rf"{LETTERS}{{8}}_{LETTERS}{{22,}}"),
    Issued("elevenlabs-key", "sk_", rf"{HEX}{{48}}(?!{LETTERS})"),
    Issued("anyscale-key", "esecret_", rf"{LETTERS}{{24,}}"),
    Issued("jina-key", "jina_", rf"{ANY}{{40,}}"),
    Issued("firecrawl-key", "fc-", rf"{HEX}{{32}}(?!{LETTERS})"),
    Issued("e2b-key", "e2b_", rf"{HEX}{{40}}"),
    Issued("modal-token", "as- ak-", rf"{LETTERS}{{22}}(?![A-Za-z0-9-])"),
    Issued("infracost-key", "ico-", rf"{LETTERS}{{32}}"),
    Issued("octopus-key", "API-", rf"{UP}{{25,}}(?![A-Za-z0-9-])"),
    Issued("posthog-key", "phx_ phs_", rf"{LETTERS}{{40,}}"),
    Issued("neon-key", "napi_", rf"{LOW}{{40,}}"),
    Issued("aiven-password", "AVNS_", rf"{ANY}{{18,}}"),
    Issued("confluent-secret", "cflt", r"[A-Za-z0-9+/]{60}"),
    Issued("datadog-key", "ddapp_ ddpat_", rf"{LETTERS}{{30,}}"),
    Issued("launchdarkly-key", "sdk- api- mob-", rf"{_UUID}(?![A-Za-z0-9-])"),
    Issued("amazon-mws-token", "amzn.mws.", _UUID),
    Issued("adobe-secret", "p8e-", rf"{LOW}{{32}}"),
    Issued("brex-token", "bxt_", rf"{LETTERS}{{30,}}"),
    Issued("hubspot-token", "pat-na1- pat-na2- pat-eu1- pat-ap1-", _UUID),
    Issued("stytch-secret", "secret-live- secret-test-", rf"{ANY}{{32,}}"),
    Issued("intercom-token", "dG9rOg", r"[A-Za-z0-9+/]{40,}={0,2}"),
    Issued("aws-session-token", "IQoJb3JpZ2luX2Vj", r"[A-Za-z0-9+/]{100,}={0,2}"),
    Issued("gocardless-token", "live_", rf"{ANY}{{40}}(?!{ANY})"),
    Issued("mailersend-token", "mlsn.", rf"{HEX}{{64}}"),
)
