"""Secrets that begin with a prefix of their issuer's: one row each, for prefixes that nothing else
has.

From the issuers' public documentation. Identifiers are written the same way (`toolu_…`, `cus_…`,
`price_…`), so no rule can tell a secret by its having a prefix: each is named here.
"""

from __future__ import annotations

from typing import NamedTuple

ANY, LETTERS, HEX, LOW, UP = r"[A-Za-z0-9_-]", r"[A-Za-z0-9]", r"[a-f0-9]", r"[a-z0-9]", r"[A-Z0-9]"
_UUID = r"[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}"


class IssuedSecret(NamedTuple):
    """A secret that begins with one of `prefixes` (words) and goes on as `rest` says."""

    kind: str
    prefixes: str
    rest: str


ISSUED_SECRETS: tuple[IssuedSecret, ...] = (
    IssuedSecret("cloudflare-token", "cfut_ cfat_ cfk_", rf"{LETTERS}{{40,}}"),
    IssuedSecret("cloudflare-origin-key", "v1.0-", rf"{HEX}{{24}}-{HEX}{{100,}}"),
    IssuedSecret("github-token", "ghs_ ghu_", rf"{ANY}{{10,}}\.{ANY}{{20,}}\.{ANY}{{20,}}"),
    IssuedSecret("heroku-token", "HRKU-", rf"{ANY}{{36,}}"),
    IssuedSecret("netlify-token", "nfp_ nfc_ nfo_ nfu_ nfb_", rf"{LETTERS}{{36,}}"),
    IssuedSecret("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", rf"{LETTERS}{{24,}}"),
    IssuedSecret("render-key", "rnd_", rf"{LETTERS}{{28,}}"),
    IssuedSecret("buildkite-token", "bkua_ bkct_", rf"{LETTERS}{{40,}}"),
    IssuedSecret("circleci-token", "CCIPAT_ CCIPRJ_", rf"{LETTERS}{{20,}}_{HEX}{{40}}"),
    IssuedSecret("sonar-token", "squ_ sqp_ sqa_ sqb_", rf"{HEX}{{40}}"),
    IssuedSecret("sourcegraph-token", "sgp_", rf"(?:(?:{HEX}{{16}}|local)_)?{HEX}{{40}}"),
    IssuedSecret("artifactory-key", "AKCp", rf"{LETTERS}{{60,}}"),
    IssuedSecret("artifactory-token", "cmVmdGtu", rf"{LETTERS}{{50,}}"),
    IssuedSecret("nuget-key", "oy2", rf"{LOW}{{43}}(?!{LETTERS})"),
    IssuedSecret("clojars-token", "CLOJARS_", rf"{LETTERS}{{60}}"),
    IssuedSecret("hex-key", "hexpm_", rf"(?:api|repo|org)?_?{LOW}{{32,}}"),
    IssuedSecret("mapbox-token", "sk.eyJ", rf"{ANY}{{20,}}\.{ANY}{{20,}}"),
    IssuedSecret("dropbox-token", "sl.", rf"(?:u\.)?{ANY}{{100,}}"),
    IssuedSecret("box-token", "box_dev_", rf"{LETTERS}{{32,}}"),
    IssuedSecret("typeform-token", "tfp_", rf"{ANY}{{40,}}"),
    IssuedSecret("duffel-token", "duffel_live_ duffel_test_", rf"{ANY}{{40,}}"),
    IssuedSecret("shippo-token", "shippo_live_ shippo_test_", rf"{HEX}{{40}}"),
    IssuedSecret("easypost-key", "EZAK EZTK", rf"{LETTERS}{{54}}"),
    IssuedSecret("razorpay-key", "rzp_live_ rzp_test_", rf"{LETTERS}{{14,}}"),
    IssuedSecret("flutterwave-key", "FLWSECK-", rf"{LETTERS}{{32}}-X"),
    IssuedSecret("flutterwave-key", "FLWSECK_TEST-", rf"{LETTERS}{{32}}-X"),
    IssuedSecret("plaid-token", "access-production- access-sandbox- access-development-", _UUID),
    IssuedSecret("frameio-token", "fio-u-", rf"{ANY}{{60,}}"),
    IssuedSecret("prefect-key", "pnu_ pnb_", rf"{LETTERS}{{36}}"),
    IssuedSecret("readme-key", "rdme_", rf"{LOW}{{60,}}"),
    IssuedSecret("scaleway-key", "SCW", rf"{UP}{{17}}(?!{LETTERS})"),
    IssuedSecret("yandex-token", "t1.", rf"{ANY}{{40,}}={{0,2}}\.{ANY}{{80,}}={{0,2}}"),
    IssuedSecret("yandex-key", "AQVN", rf"{ANY}{{35,}}"),
    IssuedSecret("resend-key", "re_", rf"{LETTERS}{{8}}_{LETTERS}{{22,}}"),
    IssuedSecret("elevenlabs-key", "sk_", rf"{HEX}{{48}}(?!{LETTERS})"),
    IssuedSecret("anyscale-key", "esecret_", rf"{LETTERS}{{24,}}"),
    IssuedSecret("jina-key", "jina_", rf"{ANY}{{40,}}"),
    IssuedSecret("firecrawl-key", "fc-", rf"{HEX}{{32}}(?!{LETTERS})"),
    IssuedSecret("e2b-key", "e2b_", rf"{HEX}{{40}}"),
    IssuedSecret("modal-token", "as- ak-", rf"{LETTERS}{{22}}(?![A-Za-z0-9-])"),
    IssuedSecret("infracost-key", "ico-", rf"{LETTERS}{{32}}"),
    IssuedSecret("octopus-key", "API-", rf"{UP}{{25,}}(?![A-Za-z0-9-])"),
    IssuedSecret("posthog-key", "phx_ phs_", rf"{LETTERS}{{40,}}"),
    IssuedSecret("neon-key", "napi_", rf"{LOW}{{40,}}"),
    IssuedSecret("aiven-password", "AVNS_", rf"{ANY}{{18,}}"),
    IssuedSecret("confluent-secret", "cflt", r"[A-Za-z0-9+/]{60}"),
    IssuedSecret("datadog-key", "ddapp_ ddpat_", rf"{LETTERS}{{30,}}"),
    IssuedSecret("launchdarkly-key", "sdk- api- mob-", rf"{_UUID}(?![A-Za-z0-9-])"),
    IssuedSecret("amazon-mws-token", "amzn.mws.", _UUID),
    IssuedSecret("adobe-secret", "p8e-", rf"{LOW}{{32}}"),
    IssuedSecret("brex-token", "bxt_", rf"{LETTERS}{{30,}}"),
    IssuedSecret("hubspot-token", "pat-na1- pat-na2- pat-eu1- pat-ap1-", _UUID),
    IssuedSecret("stytch-secret", "secret-live- secret-test-", rf"{ANY}{{32,}}"),
    IssuedSecret("intercom-token", "dG9rOg", r"[A-Za-z0-9+/]{40,}={0,2}"),
    IssuedSecret("aws-session-token", "IQoJb3JpZ2luX2Vj", r"[A-Za-z0-9+/]{100,}={0,2}"),
    IssuedSecret("gocardless-token", "live_", rf"{ANY}{{40}}(?!{ANY})"),
    IssuedSecret("mailersend-token", "mlsn.", rf"{HEX}{{64}}"),
)
