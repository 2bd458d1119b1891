"""Secrets known by what stands around them: commands, headers, settings, sentences.

These rows are a part of `secret_shapes.SHAPES` and are searched like the others.
"""

from __future__ import annotations

from reverie.privacy.secret_rule import read_shapes

_PHRASES = r"""
password-hash  any  $2a$, $2b$, $2y$, $argon2, $6$, $5$, $y$
    \$(?:2[aby]\$\d\d\$[./A-Za-z0-9]{53}|argon2id?\$[^\s\"']{40,}|[56y]\$[^\s\"':]{30,})
url-password  any  ://  spoken
    ://[^\s/:@\"'<>]{0,64}:(?P<s>[^\s@/\"'<>]{1,256})@(?=[\w\[])
url-password  random  ://  spoken
    ://(?P<s>[A-Za-z0-9_-]{20,256})@(?=[\w\[])
bearer-token  random  bearer, token␣  spoken
    (?:[Bb]earer|BEARER|[Aa]uthorization:? {0,2}[Tt]oken)\s{1,4}(?P<s>[A-Za-z0-9._~+/=-]{16,})
basic-auth  varied  basic␣  spoken
    (?i:authorization)[\"'\\]{0,3}\s?[:=,]?\s?[\"'\\]{0,3}Basic (?P<s>[A-Za-z0-9+/_-]{6,}={0,2})
basic-auth  random  basic␣  spoken
    \b[Bb]asic (?P<s>(?=[A-Za-z0-9+/]*\d)[A-Za-z0-9+/]{12,}={0,2})<end>
authorization  random  authorization  spoken
    (?i:(?:proxy-)?authorization)[\"'\\]{0,3}\s?[:=]\s?[\"'\\]{0,3}(?:[A-Za-z0-9-]{1,20} )?
    (?P<s>[A-Za-z0-9._~+/=:-]{16,})
cookie  any  cookie  spoken
    (?i:(?:set-)?cookie)[\"'\\]{0,3}\s?[:=]\s?[\"'\\]{0,3}
    (?P<s>[A-Za-z0-9_.%-]{1,64}=[^\s\"'\\;]{6,}(?:; ?[A-Za-z0-9_.%-]{1,64}(?:=[^\s\"'\\;]*)?)*)
cli-password  any  ␣-p, ␣-a  spoken
    (?:mysql\w*|mariadb\w*|sshpass|docker login|redis-cli)\b[^\n|;&]{0,120}?\s-[pa]\s?[\"']?
    (?P<s>[^\s\"'-][^\s\"']{3,})
cli-password  any  ␣-u, --user  spoken
    (?:curl|wget)\s[^\n|;]{0,200}?(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,64}:(?P<s>[^\s\"']{2,})
netrc-password  any  login␣  spoken
    \blogin\s+[^\s]{1,64}\s+password\s+(?P<s>\S+)
okta-token  any  ssws 00  spoken
    SSWS (?P<s>00[A-Za-z0-9_-]{38,})
basic-auth  login  "auth"  spoken
    "auth"\s?:\s?"(?P<s>[A-Za-z0-9+/]{8,}={0,2})"
basic-auth  any  auth plain, auth login  spoken
    AUTH (?:PLAIN|LOGIN) (?P<s>[A-Za-z0-9+/]{8,}={0,2})
password-hash  any  $apr1$, $1$  spoken
    \$(?:apr1|1)\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}
sql-password  any  identified, password ', password "  spoken
    (?i:\bidentified(?: with [\w']{1,40})? by|\b(?:with|set|encrypted) password)\s{1,4}
    (?:=\s?)?(?P<q>['\"])(?P<s>[^'\"\n]{4,256})(?P=q)
cli-password  mixed  convertto-securestring, bindpw, /user:, sudo  spoken
    (?i:convertto-securestring\s{1,4}(?:-string )?['\"]?|\bbindpw\s{1,8}
    |net use [^\n]{0,200}/user:\S{1,64}\s{1,4}|echo\s{1,4}(?:-n )?['\"]?(?=[^\n|]{4,256}\|
    \s?sudo\s[^\n]{0,40}-S))(?P<s>[^\s'\"|<$-][^\s'\"|]{3,256})
cli-password  any  ␣-p  spoken
    (?:az|oc|podman|helm registry)\b[^\n|;&]{0,120}?login[^\n|;&]{0,120}?\s-p\s?[\"']?
    (?P<s>[^\s\"'$-][^\s\"']{3,})
url-password  strong  @  spoken
    (?<![\w/.@:+-])[A-Za-z][\w.-]{0,32}:(?P<s>[^\s:@/\"'<>]{6,64})@
    (?=[A-Za-z][\w-]{0,62}\.[a-z]|\d{1,3}(?:\.\d{1,3}){3}\b)
pgpass-password  mixed  :
    (?m:^)[\w.*-]{1,80}:\d{4,5}:[A-Za-z_*][\w*-]{0,63}:[A-Za-z_][\w.-]{0,63}:
    (?P<s>[^\s:]{4,128})$
spoken-password  mixed  ␣as the password, ␣as password, ␣as my password  spoken
    (?:\buse (?P<q>['\"`]?)(?P<s>[^\s'\"`]{6,64})(?P=q) as (?:the |my )?password\b)
spoken-password  strong  with passphrase␣  spoken
    \bwith passphrase (?P<s>[^\s'\"]{6,64})
xml-password  any  <password␣  spoken
    <password\s[^<>]{1,200}>(?P<s>[^<>\s]{4,256})</
cli-password  any  sqlcmd, rabbitmqctl  spoken
    (?:sqlcmd [^\n|;]{0,120}? -P|rabbitmqctl (?:add_user|change_password) [^\s]{1,64}) ?['\"]?
    (?P<s>[^\s'\"$<-][^\s'\"]{3,})
spoken-token  long-random  token␣, secret␣  spoken
    \b(?i:token|secret) (?P<s>[A-Za-z0-9_-]{16,256})(?![\w./-])
spoken-token  woven  key␣  spoken
    \b(?i:key) (?P<s>[A-Za-z0-9_-]{16,256})(?![\w./-])
xml-secret  holds-random  </  spoken
    <(?P<n>[\w:.-]{0,40}(?i:secret|token|password|api-?_?key|credentials?))>\s{0,40}
    (?P<s>[^<>]{4,1024}?)\s{0,40}</(?P=n)>
kubernetes-secret  varied  kind: secret  spoken
    (?m:^)[ \t]{1,8}(?P<n>[\w.-]{1,64}):[ \t]{1,8}['\"]?(?P<s>[A-Za-z0-9+/]{8,4096}={1,2}
    |(?=[A-Za-z+/]*\d)[A-Za-z0-9+/]{16,4096})['\"]?[ \t]*$
xml-password  any  password" value=  spoken
    (?i:\bkey=['\"][\w.:-]{0,40}password['\"])\s{1,8}value=['\"](?P<s>[^'\"<>%]{4,256})['\"]
license-key  any  contribsys  spoken
    (?i:contribsys__com['\"]?\s?[:=]\s?['\"]?|https?://(?=[a-f0-9:]{17}@\w+\.contribsys))
    (?P<s>[a-f0-9]{8}:[a-f0-9]{8})
header-key  any  curl  spoken
    (?i:\s(?:-H|--header)[ =]{0,4}['\"](?:x-(?:[a-z]{1,20}-)?)?(?:api-?)?(?:key|token):\s{0,4})
    (?P<s>[^\s'\"$<{]{8,512})['\"]
oauth-code  long-random  code=  spoken
    [?&\s](?:code|oauth_verifier|device_code|code_verifier)=(?P<s>[A-Za-z0-9/_.~%+-]{16,512})
oauth-code  varied  4/0
    (?<![\w/.-])4/0[A-Za-z0-9_-]{30,}
oauth-code  long-random  auth code, ation code  spoken
    (?i:\bauth(?:ori[sz]ation)? code(?: is| was|:)?\s{1,4})['\"`]?(?P<s>[A-Za-z0-9/_.~-]{16,512})
seed-phrase  any  phrase, mnemonic  spoken
    (?:phrase|[Mm]nemonic)[\"']?\s?(?::|=|is)\s?[\"']?
    (?P<s>(?:[a-z]{3,8}[ \n]){11,23}[a-z]{3,8})\b
"""
PHRASES = tuple(read_shapes(_PHRASES))
