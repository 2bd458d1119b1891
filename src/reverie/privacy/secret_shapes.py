"""Secrets known by the shape their issuer gave them: the table SHAPES and how it is searched.

A new issuer is a new row of `issuer_prefixes.ISSUED_SECRETS`, or here where its prefix alone does
not tell, and a made-up example of it in `bench/privacy/cases.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from reverie.privacy.issuer_prefixes import ISSUED_SECRETS
from reverie.privacy.secret_lookalikes import (
    compile_ascii,
    holds_private_key,
    is_placeholder,
    is_random,
    is_varied,
)
from reverie.privacy.secret_phrases import PHRASES
from reverie.privacy.secret_rule import WORD_START, SecretShape, SecretSpan

__all__ = ["SHAPES", "SecretShape", "SecretSpan", "find_shape_spans", "select_shape_rows"]

MIN_TOKEN_CHARS = 16  # no issued token is shorter, and few words are longer


_B64 = r"[A-Za-z0-9+/]"
# WORD_START, asked behind one letter or three: an expression that begins with letters is searched
# far faster, and these two are tried on nearly every text.
_FREE_1, _FREE_3 = (
    rf"(?:(?<![A-Za-z0-9]{letters})|(?<=\\[nrt]{letters})|(?<=%[0-9A-F][0-9A-F]{letters}))"
    for letters in (".", "...")
)
_PEM_BODY = r"(?:[^-]++|-(?!----))*+"
_PEM_LINES = (
    r"(?:(?:\\[nr]|[\s>\"'+,|])*"
    r"(?:[A-Za-z0-9+/]{16,}={0,2}|(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]*))*"
)

SHAPES: tuple[SecretShape, ...] = (
    SecretShape(
        "private-key",
        ("private key",),
        rf"-----BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----"
        rf"(?:{_PEM_BODY}-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----|{_PEM_LINES})",
        spoken=True,
    ),
    SecretShape(
        "private-key",
        ("b3BlbnNzaC1rZXktdjE",),
        r"b3BlbnNzaC1rZXktdjE(?:[A-Za-z0-9+/]{16,}={0,2}\s?)+",
    ),
    SecretShape(
        "private-key",
        ("private-lines:",),
        r"Private-Lines: \d+\s(?P<s>(?:[A-Za-z0-9+/=]{4,}\s?)+)",
        spoken=True,
    ),
    SecretShape("age-key", ("AGE-SECRET-KEY-",), r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    *(
        SecretShape(
            row.kind,
            tuple(row.prefixes.split()),
            rf"{WORD_START}(?:{'|'.join(map(re.escape, row.prefixes.split()))}){row.rest}",
            is_varied,
        )
        for row in ISSUED_SECRETS
    ),
    SecretShape(
        "anthropic-key", ("sk-ant-",), r"sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{20,}", is_varied
    ),
    SecretShape(
        "openai-key",
        ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"),
        r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}",
        is_varied,
    ),
    SecretShape("openrouter-key", ("sk-or-v1-",), r"sk-or-v1-[A-Za-z0-9]{20,}", is_varied),
    SecretShape(
        "openai-key",
        ("sk-",),
        rf"{WORD_START}sk-(?:[a-z]{{2,6}}-)?(?=[A-Za-z]*\d)[A-Za-z0-9]{{20,}}",
        is_varied,
    ),
    SecretShape(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        r"gh[pousr]_[A-Za-z0-9]{20,}",
        is_varied,
    ),
    SecretShape("github-token", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{20,}", is_varied),
    SecretShape(
        "gitlab-token",
        (
            "glpat-",
            "gldt-",
            "glrt-",
            "glcbt-",
            "glptt-",
            "glagent-",
            "gloas-",
            "glsoat-",
            "glft-",
            "glimt-",
        ),
        r"gl(?:pat|dt|rt|cbt|ptt|agent|oas|soat|ft|imt)-[A-Za-z0-9_.-]{20,}",
        is_varied,
    ),
    SecretShape(
        "bitbucket-token",
        ("ATBB", "ATCTT3"),
        rf"{WORD_START}(?:ATBB[A-Za-z0-9]{{28,}}|ATCTT3[A-Za-z0-9_=-]{{60,}})",
        is_varied,
    ),
    SecretShape("atlassian-token", ("ATATT3",), r"ATATT3[A-Za-z0-9_=-]{40,}", is_varied),
    SecretShape(
        "aws-secret-key",
        ("AKIA", "ASIA"),
        rf"(?:AKIA|ASIA)[A-Z0-9]{{16}}[\s,;:|\"'/]{{1,8}}(?P<s>{_B64}{{40}})(?![A-Za-z0-9+/=])",
        is_random,
    ),
    SecretShape(
        "aws-access-key",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        rf"{WORD_START}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}(?![A-Za-z0-9])",
        is_varied,
    ),
    SecretShape(
        "aws-bedrock-key", ("ABSK",), rf"{WORD_START}ABSK[A-Za-z0-9+/]{{40,}}={{0,2}}", is_varied
    ),
    SecretShape("google-key", ("AIza",), r"AIza[A-Za-z0-9_-]{20,}", is_varied),
    SecretShape("google-token", ("ya29.",), r"ya29\.[A-Za-z0-9_.-]{20,}", is_varied),
    SecretShape("google-token", ("GOCSPX-",), r"GOCSPX-[A-Za-z0-9_-]{20,}", is_varied),
    SecretShape("google-token", ("1//0",), r"(?<![A-Za-z0-9/.])1//0[A-Za-z0-9_-]{30,}", is_random),
    SecretShape(
        "azure-storage-key",
        ("AccountKey=", "SharedAccessKey="),
        r"(?:AccountKey|SharedAccessKey)=(?P<s>[A-Za-z0-9+/]{20,}={0,2})",
        is_varied,
    ),
    SecretShape("azure-sas", ("sig=",), r"[?&]sig=(?P<s>[A-Za-z0-9%+/=_-]{20,})", is_varied),
    SecretShape(
        "azure-client-secret",
        ("Q~",),
        r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}",
        is_varied,
    ),
    SecretShape(
        "slack-token", ("xox", "xapp-"), r"(?:xox[abceoprs]|xapp)-[A-Za-z0-9.-]{10,}", is_varied
    ),
    SecretShape(
        "slack-webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9+/_-]{20,})",
        is_varied,
    ),
    SecretShape(
        "discord-webhook",
        ("/api/webhooks/",),
        r"/api/webhooks/(?P<s>\d{15,}/[A-Za-z0-9_-]{40,})",
        is_varied,
    ),
    SecretShape(
        "discord-token",
        (".",),
        rf"[MNO]{_FREE_1}[A-Za-z0-9_-]{{22,27}}\.[A-Za-z0-9_-]{{6}}\.[A-Za-z0-9_-]{{27,45}}(?![A-Za"
        rf"-z0-9_-])",
        is_random,
    ),
    SecretShape(
        "teams-webhook",
        (".webhook.office.com/",),
        r"\.webhook\.office\.com/webhookb2/(?P<s>[A-Za-z0-9@/_-]{40,})",
    ),
    SecretShape("telegram-token", (":AA",), r"(?<!\d)\d{6,12}:AA[A-Za-z0-9_-]{30,}", is_varied),
    SecretShape(
        "stripe-key",
        ("sk_live_", "rk_live_", "sk_test_", "rk_test_"),
        r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}",
        is_varied,
    ),
    SecretShape("webhook-secret", ("whsec_",), r"whsec_[A-Za-z0-9+/=]{20,}", is_varied),
    SecretShape(
        "square-token",
        ("sq0", "EAAA"),
        rf"(?:sq0[a-z]{{3}}-[A-Za-z0-9_-]{{22,}}|{WORD_START}EAAA[A-Za-z0-9_-]{{56,}})",
        is_varied,
    ),
    SecretShape(
        "paypal-token",
        ("access_token$production$",),
        r"access_token\$production\$[a-z0-9]{10,}\$[a-f0-9]{32}",
    ),
    SecretShape(
        "shopify-token",
        ("shpat_", "shpca_", "shppa_", "shpss_"),
        r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{20,}",
        is_varied,
    ),
    SecretShape("npm-token", ("npm_",), r"npm_[A-Za-z0-9]{30,}", is_varied),
    SecretShape(
        "npm-token",
        ("_authtoken",),
        r"_authToken\s?=\s?\"?(?P<s>[^\s\"$]{10,})",
        is_varied,
        spoken=True,
    ),
    SecretShape("pypi-token", ("pypi-",), r"pypi-[A-Za-z0-9_-]{40,}", is_varied),
    SecretShape("rubygems-key", ("rubygems_",), r"rubygems_[a-f0-9]{40,}", is_varied),
    SecretShape(
        "cargo-token", ("cio",), rf"{WORD_START}cio[A-Za-z0-9]{{32}}(?![A-Za-z0-9])", is_random
    ),
    SecretShape("docker-token", ("dckr_",), r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}", is_varied),
    SecretShape(
        "huggingface-token",
        ("hf_", "api_org_"),
        rf"{WORD_START}(?:hf|api_org)_[A-Za-z0-9]{{30,}}",
        is_varied,
    ),
    SecretShape("replicate-token", ("r8_",), rf"{WORD_START}r8_[A-Za-z0-9]{{30,}}", is_varied),
    SecretShape("groq-key", ("gsk_",), r"gsk_[A-Za-z0-9]{30,}", is_varied),
    SecretShape("xai-key", ("xai-",), r"xai-[A-Za-z0-9]{40,}", is_varied),
    SecretShape("perplexity-key", ("pplx-",), r"pplx-[A-Za-z0-9]{30,}", is_varied),
    SecretShape("fireworks-key", ("fw_",), rf"{WORD_START}fw_[A-Za-z0-9]{{22,}}", is_random),
    SecretShape("nvidia-key", ("nvapi-",), r"nvapi-[A-Za-z0-9_-]{40,}", is_varied),
    SecretShape("tavily-key", ("tvly-",), r"tvly-[A-Za-z0-9-]{20,}", is_varied),
    SecretShape(
        "langsmith-key", ("lsv2_",), r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{8,}", is_varied
    ),
    SecretShape("langfuse-key", ("sk-lf-",), r"sk-lf-[a-f0-9-]{30,}", is_varied),
    SecretShape("pinecone-key", ("pcsk_",), r"pcsk_[A-Za-z0-9_]{40,}", is_varied),
    SecretShape("wandb-key", ("wandb_v1_",), r"wandb_v1_[A-Za-z0-9_]{40,}", is_varied),
    SecretShape("digitalocean-token", ("do",), r"do[opr]_v1_[a-f0-9]{40,}", is_varied),
    SecretShape(
        "databricks-token", ("dapi",), r"dapi[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])", is_varied
    ),
    SecretShape("vault-token", ("hvs.", "hvb.", "hvr."), r"hv[sbr]\.[A-Za-z0-9_-]{20,}", is_varied),
    SecretShape(
        "terraform-token",
        (".atlasv1.",),
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}",
        is_varied,
    ),
    SecretShape("pulumi-token", ("pul-",), rf"{WORD_START}pul-[a-f0-9]{{40}}", is_varied),
    SecretShape(
        "grafana-token",
        ("glsa_", "glc_"),
        r"(?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/=]{32,})",
        is_varied,
    ),
    SecretShape(
        "newrelic-key", ("NRAK-", "NRJS-", "NRII-"), r"NR(?:AK|JS|II)-[A-Za-z0-9_-]{19,}", is_varied
    ),
    SecretShape("dynatrace-token", ("dt0c01.",), r"dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}", is_varied),
    SecretShape(
        "sentry-token", ("sntrys_", "sntryu_"), r"sntry[su]_[A-Za-z0-9+/=_]{40,}", is_varied
    ),
    SecretShape(
        "sentry-dsn",
        (".ingest.", "sentry"),
        r"https?://(?P<s>[a-f0-9]{32}(?::[a-f0-9]{32})?)@[\w.-]*sentry",
        is_varied,
    ),
    SecretShape(
        "twilio-key", ("SK", "AC"), rf"{WORD_START}SK[a-f0-9]{{32}}(?![A-Za-z0-9])", is_varied
    ),
    SecretShape("sendgrid-key", ("SG.",), r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", is_varied),
    SecretShape(
        "mailgun-key", ("key-",), rf"{WORD_START}key-[a-f0-9]{{32}}(?![A-Za-z0-9])", is_varied
    ),
    SecretShape(
        "mailchimp-key",
        ("-us",),
        r"(?<![A-Za-z0-9])[a-f0-9]{32}-us\d{1,2}(?![A-Za-z0-9])",
        is_varied,
    ),
    SecretShape("brevo-key", ("xkeysib-",), r"xkeysib-[a-f0-9]{40,}-[A-Za-z0-9]{10,}", is_varied),
    SecretShape("postman-key", ("PMAK-",), r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", is_varied),
    SecretShape("figma-token", ("figd_",), r"figd_[A-Za-z0-9_-]{30,}", is_varied),
    SecretShape(
        "linear-key", ("lin_api_", "lin_oauth_"), r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}", is_varied
    ),
    SecretShape(
        "notion-token",
        ("ntn_", "secret_"),
        rf"{WORD_START}(?:ntn_[A-Za-z0-9]{{40,}}|secret_(?=[A-Za-z]*\d)[A-Za-z0-9]{{40,}})",
        is_varied,
    ),
    SecretShape(
        "airtable-token", ("pat",), rf"pat{_FREE_3}[A-Za-z0-9]{{14}}\.[a-f0-9]{{64}}", is_varied
    ),
    SecretShape(
        "supabase-key",
        ("sbp_", "sb_secret_"),
        r"(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})",
        is_varied,
    ),
    SecretShape(
        "planetscale-token",
        ("pscale_",),
        r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,}",
        is_varied,
    ),
    SecretShape(
        "flyio-token",
        ("fo1_", "flyv1 fm"),
        r"(?:fo1_[A-Za-z0-9_-]{40,}|FlyV1 fm\d[a-z]?_[A-Za-z0-9+/=,_]{40,})",
        is_varied,
        spoken=True,
    ),
    SecretShape(
        "doppler-token",
        ("dp.",),
        rf"{WORD_START}dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{{40,}}",
        is_varied,
    ),
    SecretShape(
        "tailscale-key", ("tskey-",), r"tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{20,}", is_varied
    ),
    SecretShape(
        "1password-key",
        ("A3-", "ops_eyJ"),
        rf"(?:{WORD_START}A3-[A-Z0-9]{{6}}-(?:[A-Z0-9]{{5,11}}-){{2,4}}[A-Z0-9]{{5}}"
        r"|ops_eyJ[A-Za-z0-9+/=_-]{60,})",
        is_varied,
    ),
    SecretShape(
        "alibaba-key", ("LTAI",), rf"{WORD_START}LTAI[A-Za-z0-9]{{17,22}}(?![A-Za-z0-9])", is_varied
    ),
    SecretShape(
        "tencent-key", ("AKID",), rf"{WORD_START}AKID[A-Za-z0-9]{{32}}(?![A-Za-z0-9])", is_varied
    ),
    SecretShape("contentful-token", ("CFPAT-",), r"CFPAT-[A-Za-z0-9_-]{40,}", is_varied),
    SecretShape("facebook-token", ("EAA",), rf"{WORD_START}EAA[A-Za-z0-9]{{60,}}", is_random),
    SecretShape(
        "jwt",
        ("eyJ",),
        r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-F][0-9A-F]))"
        r"eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}",
        is_varied,
    ),
    SecretShape(
        "private-key",
        ("LS0tLS1CRUdJTi",),
        r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,}={0,2}",
        holds_private_key,
    ),
    SecretShape(
        "asana-token",
        ("/",),
        r"(?<![\w/.-])\d/\d{12,}(?:/\d{12,})?:(?P<s>[a-f0-9]{32})(?![a-f0-9])",
        is_varied,
    ),
    SecretShape(
        "azure-devops-token",
        ("AZDO",),
        rf"{WORD_START}[A-Za-z0-9]{{76}}AZDO[A-Za-z0-9]{{4}}(?![A-Za-z0-9])",
    ),
    SecretShape(
        "rapidapi-key",
        ("msh",),
        rf"{WORD_START}[a-f0-9]{{10}}msh[a-f0-9]{{15}}p1[a-f0-9]{{6}}jsn[a-f0-9]{{12}}(?![A-Za-z0-9"
        rf"])",
    ),
    *PHRASES,
)


@lru_cache(maxsize=2)
def _anchor_rows(spoken: bool) -> tuple[tuple[str, int], ...]:
    """(anchor, row) of the spoken or of the other rows: `in` is far cheaper than the expressions,
    and nearly always says no.
    """
    rows = [(row, shape) for row, shape in enumerate(SHAPES) if shape.spoken == spoken]
    return tuple((anchor, row) for row, shape in rows for anchor in shape.anchors)


def select_shape_rows(text: str, lower: str) -> list[int]:
    """The rows of SHAPES worth trying. Prose has no long words, so most anchors are never looked
    for.
    """
    rows = [row for anchor, row in _anchor_rows(spoken=True) if anchor in lower]
    words = text.split()
    if max(map(len, words), default=0) >= MIN_TOKEN_CHARS:
        long = " ".join([word for word in words if len(word) >= MIN_TOKEN_CHARS])
        rows += [row for anchor, row in _anchor_rows(spoken=False) if anchor in long]
    return list(dict.fromkeys(rows))


def find_shape_spans(text: str, shape: SecretShape, rank: int) -> Iterator[SecretSpan]:
    """Where secrets of this shape stand."""
    for found in compile_ascii(shape.pattern).finditer(text):
        start, end = found.span("s" if "s" in found.groupdict() else 0)
        secret = text[start:end]
        if (shape.check is None or shape.check(secret)) and not is_placeholder(secret):
            yield SecretSpan(start, end, rank, shape.kind)
