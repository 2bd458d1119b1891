"""Secrets known by the shape their issuer gave them: the tables and how they are searched.

A new issuer is a new line of `_ISSUED`, or a row of `_SHAPED` where its prefix alone does not tell,
and a made-up example of it in `bench/privacy/cases.py`. From the issuers' public documentation.
Identifiers are written the same way (`toolu_…`, `cus_…`, `price_…`), so no rule can tell a secret
by its having a prefix: each is named here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from reverie.privacy.secret_lookalikes import compile_ascii, is_placeholder, is_varied
from reverie.privacy.secret_phrases import PHRASES
from reverie.privacy.secret_rule import (
    SecretShape,
    SecretSpan,
    expand_table,
    read_shapes,
    start_behind,
)

_SIGNS = '$<>=@"/:-_.|~'  # of anchors, none of them common in prose
# Only spoken rows match what is shorter, which a test holds, and few words are longer.
MIN_TOKEN_CHARS = 15

# Where two rows find the same text, the upper one names the mark.
_KEYS = r"""
private-key  any  private key  spoken
    -----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----
    (?:(?:[^-]++|-(?!----))*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----
    |(?:(?:\\[nr]|[\s>\"'+,|])*
    (?:[A-Za-z0-9+/]{16,}={0,2}|(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]*))*)
private-key  any  b3BlbnNzaC1rZXktdjE
    b3BlbnNzaC1rZXktdjE(?:[A-Za-z0-9+/]{16,}={0,2}\s?)+
private-key  any  private-lines:  spoken
    Private-Lines: \d+\s(?P<s>(?:[A-Za-z0-9+/=]{4,}\s?)+)
age-key  any  AGE-SECRET-KEY-
    AGE-SECRET-KEY-1[A-Z0-9]{50,}
"""
_SHAPED = r"""
anthropic-key  varied  sk-ant-
    sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{20,}
openai-key  varied  sk-proj-, sk-svcacct-, sk-admin-, sk-None-
    sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}
openrouter-key  varied  sk-or-v1-
    sk-or-v1-[A-Za-z0-9]{20,}
openai-key  varied  sk-
    <start>sk-(?:[a-z]{2,6}-)?(?=[A-Za-z]*\d)[A-Za-z0-9]{20,}
github-token  varied  ghp_, gho_, ghu_, ghs_, ghr_
    gh(?:[us]_<any>{10,}\.<any>{20,}\.<any>{20,}|[pousr]_[A-Za-z0-9]{20,})
github-token  varied  github_pat_
    github_pat_[A-Za-z0-9_]{20,}
gitlab-token  varied  glpat-, gldt-, glrt-, glcbt-, glptt-, glagent-, gloas-, glsoat-, glft-, glimt-
    gl(?:pat|dt|rt|cbt|ptt|agent|oas|soat|ft|imt)-[A-Za-z0-9_.-]{20,}
gitlab-cookie  varied  _gitlab_session=
    _gitlab_session=(?P<s>[a-z0-9]{32,})
bitbucket-token  varied  ATBB, ATCTT3
    <start>(?:ATBB[A-Za-z0-9]{28,}|ATCTT3[A-Za-z0-9_=-]{60,})
atlassian-token  varied  ATATT3
    ATATT3[A-Za-z0-9_=-]{40,}
aws-secret-key  random  AKIA, ASIA
    (?:AKIA|ASIA)[A-Z0-9]{16}[\s,;:|\"'/]{1,8}(?P<s>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])
aws-access-key  varied  AKIA, ASIA, ABIA, ACCA, A3T
    <start>(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}<end>
aws-bedrock-key  varied  ABSK
    <start>ABSK[A-Za-z0-9+/]{40,}={0,2}
google-key  varied  AIza
    AIza[A-Za-z0-9_-]{20,}
google-token  varied  ya29.
    ya29\.[A-Za-z0-9_.-]{20,}
google-token  varied  GOCSPX-
    GOCSPX-[A-Za-z0-9_-]{20,}
google-token  random  1//0
    (?<![A-Za-z0-9/.])1//0[A-Za-z0-9_-]{30,}
azure-storage-key  varied  AccountKey=, SharedAccessKey=
    (?:AccountKey|SharedAccessKey)=(?P<s>[A-Za-z0-9+/]{20,}={0,2})
azure-sas  varied  sig=
    [?&]sig=(?P<s>[A-Za-z0-9%+/=_-]{20,})
azure-client-secret  varied  Q~
    (?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}
slack-token  varied  xox, xapp-
    (?:xox[abceoprs]|xapp)-[A-Za-z0-9.-]{11,}
slack-webhook  varied  hooks.slack.com/
    hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9+/_-]{20,})
discord-webhook  varied  /api/webhooks/
    /api/webhooks/(?P<s>\d{15,}/[A-Za-z0-9_-]{40,})
discord-token  random  .
    [MNO]<start-behind-1>[A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.
    [A-Za-z0-9_-]{27,45}(?![A-Za-z0-9_-])
teams-webhook  any  .webhook.office.com/
    \.webhook\.office\.com/webhookb2/(?P<s>[A-Za-z0-9@/_-]{40,})
telegram-token  varied  :AA
    (?<!\d)\d{6,12}:AA[A-Za-z0-9_-]{30,}
stripe-key  varied  sk_live_, rk_live_, sk_test_, rk_test_, sk_prod_, rk_prod_
    [rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}
webhook-secret  varied  whsec_
    whsec_[A-Za-z0-9+/=]{20,}
square-token  varied  sq0, EAAA
    (?:sq0[a-z]{3}-[A-Za-z0-9_-]{22,}|<start>EAAA[A-Za-z0-9_-]{56,})
paypal-token  any  access_token$production$
    access_token\$production\$[a-z0-9]{10,}\$[a-f0-9]{32}
shopify-token  varied  shpat_, shpca_, shppa_, shpss_
    shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{20,}
npm-token  varied  npm_
    npm_[A-Za-z0-9]{30,}
npm-token  varied  _authtoken  spoken
    _authToken\s?=\s?\"?(?P<s>[^\s\"$]{10,})
pypi-token  varied  pypi-
    pypi-[A-Za-z0-9_-]{40,}
rubygems-key  varied  rubygems_
    rubygems_[a-f0-9]{40,}
cargo-token  random  cio
    <start>cio[A-Za-z0-9]{32}<end>
docker-token  varied  dckr_
    dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}
huggingface-token  varied  hf_, api_org_
    <start>(?:hf|api_org)_[A-Za-z0-9]{30,}
replicate-token  varied  r8_
    <start>r8_[A-Za-z0-9]{30,}
groq-key  varied  gsk_
    gsk_[A-Za-z0-9]{30,}
xai-key  varied  xai-
    xai-[A-Za-z0-9]{40,}
perplexity-key  varied  pplx-
    pplx-[A-Za-z0-9]{30,}
fireworks-key  random  fw_
    <start>fw_[A-Za-z0-9]{22,}
nvidia-key  varied  nvapi-
    nvapi-[A-Za-z0-9_-]{40,}
tavily-key  varied  tvly-
    tvly-[A-Za-z0-9-]{20,}
langsmith-key  varied  lsv2_
    lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{8,}
langfuse-key  varied  sk-lf-
    sk-lf-[a-f0-9-]{30,}
pinecone-key  varied  pcsk_
    pcsk_[A-Za-z0-9_]{40,}
wandb-key  varied  wandb_v1_
    wandb_v1_[A-Za-z0-9_]{40,}
digitalocean-token  varied  do
    do[opr]_v1_[a-f0-9]{40,}
databricks-token  varied  dapi
    dapi[a-f0-9]{32}(?:-\d)?<end>
vault-token  varied  hvs., hvb., hvr.
    hv[sbr]\.[A-Za-z0-9_-]{20,}
vault-token  strong-random  s.
    s\.(?<![A-Za-z0-9_.-]s\.)[A-Za-z0-9]{24}<end>
terraform-token  varied  .atlasv1.
    [A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}
pulumi-token  varied  pul-
    <start>pul-[a-f0-9]{40}
grafana-token  varied  glsa_, glc_
    (?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,})
newrelic-key  varied  NRAK-, NRJS-, NRII-
    NR(?:AK|JS|II)-[A-Za-z0-9_-]{19,}
dynatrace-token  varied  dt0c01.
    dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}
sentry-token  varied  sntrys_, sntryu_
    sntry[su]_[A-Za-z0-9+/=_]{40,}
sentry-dsn  varied  .ingest., sentry
    https?://(?P<s>[a-f0-9]{32}(?::[a-f0-9]{32})?)@[\w.-]*sentry
twilio-key  varied  SK, AC
    <start>SK[a-f0-9]{32}<end>
sendgrid-key  varied  SG.
    SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}
mailgun-key  varied  key-
    <start>key-[a-f0-9]{32}<end>
mailchimp-key  varied  -us
    (?<![A-Za-z0-9])[a-f0-9]{32}-us\d{1,2}<end>
brevo-key  varied  xkeysib-
    xkeysib-[a-f0-9]{40,}-[A-Za-z0-9]{10,}
postman-key  varied  PMAK-
    PMAK-[a-f0-9]{24}-[a-f0-9]{34}
figma-token  varied  figd_
    figd_[A-Za-z0-9_-]{30,}
linear-key  varied  lin_api_, lin_oauth_
    lin_(?:api|oauth)_[A-Za-z0-9]{30,}
notion-token  varied  ntn_, secret_
    <start>(?:ntn_[A-Za-z0-9]{40,}|secret_(?=[A-Za-z]*\d)[A-Za-z0-9]{40,})
airtable-token  varied  pat
    pat<start-behind-3>[A-Za-z0-9]{14}\.[a-f0-9]{64}
supabase-key  varied  sbp_, sb_secret_
    (?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})
planetscale-token  varied  pscale_
    pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,}
flyio-token  varied  fm1a_, fm1r_, fm2_
    <start>fm(?:1[ar]|2)_[A-Za-z0-9+/=,_]{60,}
flyio-token  varied  fo1_, flyv1 fm  spoken
    (?:fo1_[A-Za-z0-9_-]{40,}|FlyV1 fm\d[a-z]?_[A-Za-z0-9+/=,_]{40,})
doppler-token  varied  dp.
    <start>dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,}
tailscale-key  varied  tskey-
    tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{20,}
1password-key  varied  A3-, ops_eyJ
    (?:<start>A3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){2,4}[A-Z0-9]{5}|ops_eyJ[A-Za-z0-9+/=_-]{60,})
alibaba-key  varied  LTAI
    <start>LTAI[A-Za-z0-9]{17,22}<end>
tencent-key  varied  AKID
    <start>AKID[A-Za-z0-9]{32}<end>
contentful-token  varied  CFPAT-
    CFPAT-[A-Za-z0-9_-]{40,}
facebook-token  random  EAA
    <start>EAA[A-Za-z0-9]{60,}
jwt  varied  eyJ
    (?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-F][0-9A-F]))eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_
    -]{8,}(?:\.[A-Za-z0-9_-]*){1,3}
private-key  key  LS0tLS1CRUdJTi
    LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,}={0,2}
asana-token  varied  /
    \d/(?<![\w/.-]\d/)\d{12,}(?:/\d{12,})?:(?P<s>[a-f0-9]{32})(?![a-f0-9])
azure-devops-token  any  AZDO
    <start>[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}<end>
maxmind-key  varied  _mmk
    <start>[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk<end>
grafana-token  varied  eyJrIjoi
    <start>eyJrIjoi[A-Za-z0-9]{60,}={0,3}
jwt  varied  ZXlK
    <start>ZXlK(?:[a-zA-Z0-9/+_-]){60,}={0,2}
authress-key  varied  .acc_, .acc-
    <start>(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}
    \.[A-Za-z0-9+/_=-]{30,120}
harness-token  varied  pat., sat.
    <start>[ps]at\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}
facebook-token  random  |
    \d{15,16}\|(?P<s>[A-Za-z0-9_-]{27,40})(?![A-Za-z0-9_-])
lob-key  varied  live_pub_, test_
    (?:live_pub|test(?:_pub)?)_(?P<s>[a-f0-9]{31,35})<end>
rapidapi-key  any  msh
    <start>[a-f0-9]{10}msh[a-f0-9]{15}p1[a-f0-9]{6}jsn[a-f0-9]{12}<end>
"""
# Each line: kind, prefixes that nothing else has, and the expression for what follows them.
_ISSUED = r"""
cloudflare-token       cfut_ cfat_ cfk_  <alnum>{40,}
cloudflare-origin-key  v1.0-  <hex>{24}-<hex>{100,}
heroku-token           HRKU-  <any>{36,}
netlify-token          nfp_ nfc_ nfo_ nfu_ nfb_  <alnum>{36,}
vercel-token           vcp_ vci_ vca_ vcr_ vck_  <alnum>{24,}
render-key             rnd_  <alnum>{28,}
buildkite-token        bkua_ bkct_  <alnum>{40,}
circleci-token         CCIPAT_ CCIPRJ_  <alnum>{20,}_<hex>{40}
sonar-token            squ_ sqp_ sqa_ sqb_  <hex>{40}
sourcegraph-token      sgp_  (?:(?:<hex>{16}|local)_)?<hex>{40}
artifactory-key        AKCp  <alnum>{60,}
artifactory-token      cmVmdGtu  <alnum>{50,}
nuget-key              oy2  <low>{43}(?!<alnum>)
clojars-token          CLOJARS_  <alnum>{60}
hex-key                hexpm_  (?:api|repo|org)?_?<low>{32,}
mapbox-token           sk.eyJ  <any>{20,}\.<any>{20,}
dropbox-token          sl.  (?:u\.)?<any>{100,}
box-token              box_dev_  <alnum>{32,}
typeform-token         tfp_  <any>{40,}
duffel-token           duffel_live_ duffel_test_  <any>{40,}
shippo-token           shippo_live_ shippo_test_  <hex>{40}
easypost-key           EZAK EZTK  <alnum>{54}
razorpay-key           rzp_live_ rzp_test_  <alnum>{14,}
flutterwave-key        FLWSECK-  <alnum>{32}-X
flutterwave-key        FLWSECK_TEST-  <alnum>{12,32}(?:-X)?
clickhouse-key         4b1d  <alnum>{38}(?!<alnum>)
defined-key            dnkey-  <any>{26}-<any>{52}
gitlab-token           glffct- GR1348941  <any>{20,}
intra42-secret         s-s4t2ud- s-s4t2af-  <hex>{64}
openshift-token        sha256~  <any>{43}(?!<any>)
scalingo-token         tk-us-  <any>{48}
settlemint-token       sm_aat_ sm_pat_ sm_sat_  <alnum>{16}
artifactory-token      cmVmd  <alnum>{59}(?!<alnum>)
mapbox-token           pk.eyJ  <any>{20,}\.<any>{20,}
figma-token            figu_ figr_ figp_ figo_  <any>{36,}
spectral-token         spu-  <low>{32}
runway-key             key_  <hex>{64,}
plaid-token            access-production- access-sandbox- access-development-  <uuid>
frameio-token          fio-u-  <any>{60,}
prefect-key            pnu_ pnb_  <alnum>{36}
readme-key             rdme_  <low>{60,}
scaleway-key           SCW  <up>{17}(?!<alnum>)
yandex-token           t1.  <any>{40,}={0,2}\.<any>{80,}={0,2}
yandex-key             AQVN  <any>{35,}
resend-key             re_  <alnum>{8}_<alnum>{22,}
elevenlabs-key         sk_  (?:<hex>{48}(?!<alnum>)|[a-z]{4,10}_<alnum>{36,})
anyscale-key           esecret_  <alnum>{24,}
jina-key               jina_  <any>{40,}
firecrawl-key          fc-  <hex>{32}(?!<alnum>)
e2b-key                e2b_  <hex>{40}
modal-token            as- ak-  <alnum>{22}(?![A-Za-z0-9-])
infracost-key          ico-  <alnum>{32}
octopus-key            API-  <up>{25,}(?![A-Za-z0-9-])
posthog-key            phx_ phs_  <alnum>{40,}
neon-key               napi_  <low>{40,}
aiven-password         AVNS_  <any>{18,}
confluent-secret       cflt  [A-Za-z0-9+/]{60}
datadog-key            ddapp_ ddpat_  <alnum>{30,}
launchdarkly-key       sdk- api- mob-  <uuid>(?![A-Za-z0-9-])
amazon-mws-token       amzn.mws.  <uuid>
adobe-secret           p8e-  <low>{32}
brex-token             bxt_  <alnum>{30,}
hubspot-token          pat-na1- pat-na2- pat-eu1- pat-ap1-  <uuid>
stytch-secret          secret-live- secret-test-  <any>{32,}
intercom-token         dG9rOg  [A-Za-z0-9+/]{40,}={0,2}
aws-session-token      IQoJb3JpZ2luX2Vj  [A-Za-z0-9+/]{100,}={0,2}
gocardless-token       live_  (?:<any>{40}(?!<any>)|<hex>{35}(?!<alnum>))
mailersend-token       mlsn.  <hex>{64}
"""


def read_issued(table: str) -> Iterator[SecretShape]:
    """The rows of a table of prefixes."""
    for line in expand_table(table).split("\n"):
        kind, *prefixes, rest = line.split()
        # The letters first: an expression that begins with them looks at few places of a text.
        starts = [re.escape(prefix) + start_behind(len(prefix)) for prefix in prefixes]
        start = f"(?:{'|'.join(starts)})" if len(starts) > 1 else starts[0]
        yield SecretShape(kind, tuple(prefixes), start + rest, is_varied)


SHAPES = (*read_shapes(_KEYS), *read_issued(_ISSUED), *read_shapes(_SHAPED), *PHRASES)


@lru_cache(maxsize=2)
def _anchor_rows(spoken: bool) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    """(anchor, row) of the spoken or of the other rows, by a sign that these anchors hold, or "".

    `in` is far cheaper than the expressions, and nearly always says no: first for the sign.
    """
    found: dict[str, list[tuple[str, int]]] = {}
    for row, shape in enumerate(SHAPES):
        if shape.spoken == spoken:
            for anchor in shape.anchors:
                sign = next((sign for sign in anchor if sign in _SIGNS), "")
                found.setdefault(sign, []).append((anchor, row))
    return tuple((sign, tuple(rows)) for sign, rows in found.items())


def _rows_with_anchors(text: str, *, spoken: bool) -> list[int]:
    """The rows of which an anchor stands in a text."""
    return [
        row
        for sign, rows in _anchor_rows(spoken)
        if sign in text
        for anchor, row in rows
        if anchor in text
    ]


def select_shape_rows(text: str, lower: str) -> list[int]:
    """The rows of SHAPES worth trying.

    Prose has no long words, so most anchors are never looked for.
    """
    rows = _rows_with_anchors(lower, spoken=True)
    words = text.split()
    if max(map(len, words), default=0) >= MIN_TOKEN_CHARS:
        long_words = [word for word in words if len(word) >= MIN_TOKEN_CHARS]
        long = " ".join(long_words)
        rows += _rows_with_anchors(long, spoken=False)
    return sorted(set(rows))


def find_shape_spans(
    text: str,
    shape: SecretShape,
    rank: int,
) -> Iterator[SecretSpan]:
    """Where secrets of this shape stand."""
    pattern = compile_ascii(shape.pattern)
    group = "s" if "s" in pattern.groupindex else 0
    for found in pattern.finditer(text):
        start, end = found.span(group)
        secret = text[start:end]
        passes = shape.check is None or shape.check(secret)
        if passes and not is_placeholder(secret):
            yield SecretSpan(start, end, rank, shape.kind)
