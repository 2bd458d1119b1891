"""Secrets known by what stands around them: commands, headers, settings, sentences.

These rows are a part of `secret_shapes.SHAPES` and are searched like the others.
"""

from __future__ import annotations

from reverie.privacy.secret_lookalikes import (
    is_login,
    is_mixed,
    is_random,
    is_strong,
    is_strong_and_random,
    is_varied,
)
from reverie.privacy.secret_rule import SecretShape

PHRASES: tuple[SecretShape, ...] = (
    SecretShape(
        "password-hash",
        ("$2a$", "$2b$", "$2y$", "$argon2", "$6$", "$5$", "$y$"),
        r"\$(?:2[aby]\$\d\d\$[./A-Za-z0-9]{53}|argon2id?\$[^\s\"']{40,}|[56y]\$[^\s\"':]{30,})",
    ),
    SecretShape(
        "url-password",
        ("://",),
        r"://[^\s/:@\"'<>]{0,64}:(?P<s>[^\s@/\"'<>]{1,256})@(?=[\w\[])",
        None,
        spoken=True,
    ),
    SecretShape(
        "url-password",
        ("://",),
        r"://(?P<s>[A-Za-z0-9_-]{20,256})@(?=[\w\[])",
        is_random,
        spoken=True,
    ),
    SecretShape(
        "bearer-token",
        ("bearer", "token "),
        r"(?:[Bb]earer|BEARER|[Aa]uthorization:? {0,2}[Tt]oken)"
        r"\s{1,4}(?P<s>[A-Za-z0-9._~+/=-]{16,})",
        is_random,
        spoken=True,
    ),
    SecretShape(
        "basic-auth",
        ("basic ",),
        r"(?i:authorization)[\"'\\]{0,3}\s?[:=,]?\s?[\"'\\]{0,3}Basic "
        r"(?P<s>[A-Za-z0-9+/_-]{6,}={0,2})",
        is_varied,
        spoken=True,
    ),
    SecretShape(
        "basic-auth",
        ("basic ",),
        r"\b[Bb]asic (?P<s>(?=[A-Za-z0-9+/]*\d)[A-Za-z0-9+/]{12,}={0,2})(?![A-Za-z0-9])",
        is_random,
        spoken=True,
    ),
    SecretShape(
        "authorization",
        ("authorization",),
        r"(?i:(?:proxy-)?authorization)[\"'\\]{0,3}\s?[:=]\s?[\"'\\]{0,3}"
        r"(?:[A-Za-z0-9-]{1,20} )?(?P<s>[A-Za-z0-9._~+/=:-]{16,})",
        is_random,
        spoken=True,
    ),
    SecretShape(
        "cookie",
        ("cookie",),
        r"(?i:(?:set-)?cookie)[\"'\\]{0,3}\s?[:=]\s?[\"'\\]{0,3}"
        r"(?P<s>[A-Za-z0-9_.%-]{1,64}=[^\s\"'\\;]{6,}"
        r"(?:; ?[A-Za-z0-9_.%-]{1,64}(?:=[^\s\"'\\;]*)?)*)",
        spoken=True,
    ),
    SecretShape(
        "cli-password",
        (" -p", " -a"),
        r"(?:mysql\w*|mariadb\w*|sshpass|docker login|redis-cli)\b"
        r"[^\n|;&]{0,120}?\s-[pa]\s?[\"']?(?P<s>[^\s\"'-][^\s\"']{3,})",
        spoken=True,
    ),
    SecretShape(
        "cli-password",
        (" -u", "--user"),
        r"(?:curl|wget)\s[^\n|;]{0,200}?(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,64}:"
        r"(?P<s>[^\s\"']{2,})",
        spoken=True,
    ),
    SecretShape(
        "netrc-password", ("login ",), r"\blogin\s+[^\s]{1,64}\s+password\s+(?P<s>\S+)", spoken=True
    ),
    SecretShape("okta-token", ("ssws 00",), r"SSWS (?P<s>00[A-Za-z0-9_-]{38,})", spoken=True),
    SecretShape(
        "basic-auth",
        ('"auth"',),
        r'"auth"\s?:\s?"(?P<s>[A-Za-z0-9+/]{8,}={0,2})"',
        is_login,
        spoken=True,
    ),
    SecretShape(
        "basic-auth",
        ("auth plain", "auth login"),
        r"AUTH (?:PLAIN|LOGIN) (?P<s>[A-Za-z0-9+/]{8,}={0,2})",
        spoken=True,
    ),
    SecretShape(
        "password-hash",
        ("$apr1$", "$1$"),
        r"\$(?:apr1|1)\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}",
        spoken=True,
    ),
    SecretShape(
        "sql-password",
        ("identified", "password '", 'password "'),
        r"(?i:\bidentified(?: with [\w']{1,40})? by|\b(?:with|set|encrypted) password)"
        r"\s{1,4}(?:=\s?)?"
        r"(?P<q>['\"])(?P<s>[^'\"\n]{4,256})(?P=q)",
        spoken=True,
    ),
    SecretShape(
        "cli-password",
        ("convertto-securestring", "bindpw", "/user:", "sudo"),
        r"(?i:convertto-securestring\s{1,4}(?:-string )?['\"]?|\bbindpw\s{1,8}"
        r"|net use [^\n]{0,200}/user:\S{1,64}\s{1,4}"
        r"|echo\s{1,4}(?:-n )?['\"]?(?=[^\n|]{4,256}\|\s?sudo\s[^\n]{0,40}-S))"
        r"(?P<s>[^\s'\"|<$-][^\s'\"|]{3,256})",
        is_mixed,
        spoken=True,
    ),
    SecretShape(
        "cli-password",
        (" -p",),
        r"(?:az|oc|podman|helm registry)\b[^\n|;&]{0,120}?login[^\n|;&]{0,120}?\s-p\s?[\"']?"
        r"(?P<s>[^\s\"'$-][^\s\"']{3,})",
        spoken=True,
    ),
    SecretShape(
        "url-password",
        ("@",),
        r"(?<![\w/.@:+-])[A-Za-z][\w.-]{0,32}:(?P<s>[^\s:@/\"'<>]{6,64})@"
        r"(?=[A-Za-z][\w-]{0,62}\.[a-z]|\d{1,3}(?:\.\d{1,3}){3}\b)",
        is_strong,
        spoken=True,
    ),
    SecretShape(
        "pgpass-password",
        (":",),
        r"(?m:^)[\w.*-]{1,80}:\d{4,5}:[A-Za-z_*][\w*-]{0,63}:[A-Za-z_][\w.-]{0,63}:(?P<s>[^\s:]{4,128})$",
        is_mixed,
    ),
    SecretShape(
        "spoken-password",
        (" as the password", " as password", " as my password"),
        r"(?:\buse (?P<q>['\"`]?)(?P<s>[^\s'\"`]{6,64})(?P=q) as (?:the |my )?password\b)",
        is_mixed,
        spoken=True,
    ),
    SecretShape(
        "spoken-password",
        ("with passphrase ",),
        r"\bwith passphrase (?P<s>[^\s'\"]{6,64})",
        is_strong,
        spoken=True,
    ),
    SecretShape(
        "xml-password",
        ("<password ",),
        r"<password\s[^<>]{1,200}>(?P<s>[^<>\s]{4,256})</",
        spoken=True,
    ),
    SecretShape(
        "cli-password",
        ("sqlcmd", "rabbitmqctl"),
        r"(?:sqlcmd [^\n|;]{0,120}? -P|rabbitmqctl (?:add_user|change_password) [^\s]{1,64})"
        r" ?['\"]?"
        r"(?P<s>[^\s'\"$<-][^\s'\"]{3,})",
        spoken=True,
    ),
    SecretShape(
        "spoken-token",
        ("token ", "key ", "secret "),
        r"\b(?i:token|key|secret) (?P<s>[A-Za-z0-9_-]{24,256})(?![\w./-])",
        is_strong_and_random,
        spoken=True,
    ),
    SecretShape(
        "seed-phrase",
        ("phrase", "mnemonic"),
        r"(?:phrase|[Mm]nemonic)[\"']?\s?(?::|=|is)\s?[\"']?"
        r"(?P<s>(?:[a-z]{3,8}[ \n]){11,23}[a-z]{3,8})\b",
        spoken=True,
    ),
)
