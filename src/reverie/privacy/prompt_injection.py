"""Words by which a text addresses the assistant that reads it, instead of telling something.

A table of what such texts have in common, in the languages we know some of. It is a net with holes:
whoever knows it words around it, and honest documents are caught now and then. So it decides
nothing alone: it is asked only about what others wrote, and only whether a person should look
first. What such a text may become does not depend on it (`untrusted_text`). Figures: `python -m
bench.untrusted`. Pure; every expression is bounded.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from reverie.core.guarded_patterns import GuardedPattern, PatternGuard, split_alternatives
from reverie.core.lazy_patterns import compile_once

MAX_CHARS_CHECKED = 20_000
HIDDEN_CHARACTERS = "holds characters that nobody sees"


class InjectionSign(NamedTuple):
    """A reason, in words for a person, and the expression that finds it."""

    reason: str
    pattern: str
    # Nobody tells this to their own assistant: what stands beside it was pasted.
    foreign: bool = False


_EARLIER = r"(?:previous|prior|earlier|above|preceding|existing|your|all|any|these|system)"
_ORDERS = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directives?|orders|commands|constraints"
    r"|polic(?:y|ies))"
)

# Ours; no list that is published. docs/why-untrusted.md tells what such texts have in common.
INJECTION_SIGNS = (
    InjectionSign(
        "asks to ignore instructions",
        rf"\b(?:ignore|disregard|forget|override|bypass|neglect)"
        rf"\b(?:\W+\w+){{0,3}}?\W+{_EARLIER}\b(?:\W+\w+){{0,2}}?\W+"
        rf"{_ORDERS}\b|\b(?:ignore|disregard|forget)\b(?:\W+(?:what|everything|anything"
        rf"|all))+\W+(?:you|was|were|that)\b",
        foreign=True,
    ),
    InjectionSign(
        "asks to ignore instructions",
        r"\bignorier\w*\b.{0,40}\b(?:anweisung|regel|vorgabe)\w*|\bvergiss\b.{0,40}\b(?:anweisung"
        r"|regel)\w*|"
        # Both words are English too, where more must be said: an article tells that it is French.
        r"\bignor(?:e[zr]?|ons)\b.{0,20}\b(?:[lmtcd]es\b|[vn]os\b|toutes?\b|l['’])"
        r".{0,30}\b(?:consignes?|instructions?|règles?)\b|"
        r"\bignor[ae]\w*\b.{0,40}\b(?:instruc(?:ciones|ções)|istruzioni|reglas|regras|regole"
        r"|órdenes)\b|"
        r"игнорируй.{0,60}(?:инструкци|указани|правил)|忽略.{0,20}(?:指令|指示|说明|规则)|(?:指示"
        r"|命令).{0,10}無視|"
        r"무시.{0,20}(?:지시|명령)|(?:지시|명령).{0,20}무시|تجاهل.{0,40}(?:التعليمات|الأوامر)",
        foreign=True,
    ),
    InjectionSign(
        "gives the assistant another part to play",
        r"\byou are (?:now|from now on)\b(?!\W+(?:ready|able|done|set|logged|connected|good"
        r"|finished|in (?:the|a|"
        r"your)))|"
        r"\b(?:act|behave|respond) as (?:an? )?(?:unrestricted|jailbroken|DAN\b|admin|root"
        r"|developer mode)|"
        r"\b(?:maintenance|developer|debug|god|admin) mode\b.{0,30}\b(?:always|answer|output"
        r"|reveal|enabled)|"
        r"\byour (?:new |only |real |true )*(?:goal|task|instructions?|job|purpose|mission|role) "
        r"(?:is|are)\b|"
        r"\bnew (?:system )?(?:instructions?|prompt)\s*:|\bdu bist (?:jetzt|ab jetzt|nun) (?:ein"
        r"|der|die)\b|"
        r"\b(?:tu es|vous êtes) (?:maintenant|désormais)\b|\b(?:ahora|agora) (?:eres|você é)\b"
        r"|你现在是|ты теперь",
        foreign=True,
    ),
    InjectionSign(
        "poses as the host or as a speaker",
        r"<\W{0,3}(?:system|assistant|user|human|tool_result|function_calls?|invoke|instructions?)"
        r"(?:[\s_>-]|reminder)|"
        r"(?m:^[^\S\n]*(?:\[?(?:SYSTEM|System|ASSISTANT|Assistant|HUMAN|Human)\]?)\s*:)|\[/?INST\]"
        r"|<\|\w{2,20}\|>|"
        r"<<SYS>>|\b(?:SYSTEM|ASSISTANT):\s",
    ),
    InjectionSign(
        "asks to keep something from the user",
        r"\b(?:do not|don'?t|never|without)\b.{0,20}\b(?:tell(?:ing)?|inform(?:ing)?|mention\w*"
        r"|reveal\w*|show\w*|"
        r"warn\w*|alert\w*|notify\w*|ask(?:ing)?)\b.{0,25}\b(?:the )?(?:user|human|owner|operator"
        r"|developer)s?\b|"
        r"\b(?:do not|don'?t|never)\b.{0,12}\b(?:mention|reveal|tell|warn|ask before|ask for)"
        r"\b.{0,60}"
        r"\b(?:to anybody|to anyone|to the user|anybody|anyone|confirmation|you)\b|"
        r"\b(?:sag|verrate|erzähl|zeig)\w* (?:es )?(?:dem|der) (?:nutzer|benutzer|anwender)\w* "
        r"n(?:icht|ie)|"
        r"\bne (?:dites?|dis|révél\w+|montr\w+) (?:jamais|pas|rien).{0,20}utilisateur|\bsans (?:le "
        r")?demander\b|"
        r"\bno (?:le )?(?:digas?|muestres?|reveles?).{0,20}usuario|\bnão (?:diga|mostre|revele)"
        r".{0,20}usuário|"
        r"не (?:сообщай|говори|показывай).{0,20}пользовател|不要(?:告诉|通知|让).{0,6}用户|"
        r"ユーザーに(?:は)?(?:言|知らせ|伝え).{0,6}ない",
    ),
    InjectionSign(
        "asks to run what comes from elsewhere",
        r"\b(?:curl|wget|iwr|invoke-webrequest|fetch)\b[^\n]{0,200}\|\s*(?:sudo )?(?:ba|z|da"
        r"|k)?sh\b|"
        r"\b(?:ba|z)?sh\b\W{0,4}<\(\s*(?:curl|wget)|\bbase64 (?:-d|-D|--decode)"
        r"\b[^\n]{0,120}(?:\|\s*(?:ba|z)?sh\b|"
        r"\b(?:run|execute|eval)\b)|\beval\b[^\n]{0,40}\b(?:base64|atob|curl|wget)\b|"
        r"\b(?:powershell|pwsh)\b[^\n]{0,60}-e(?:nc|ncodedcommand)?\b|"
        r"(?:download|herunter|télécharge|descarg|скачай|下载).{0,60}\b(?:execute it|run it|führe? "
        r"es aus|"
        r"exécute\w*|ejecút\w*)|https?://\S{1,200}.{0,12}(?:を実行|并(?:运行|执行))",
        foreign=True,
    ),
    InjectionSign(
        "sends data to an address",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{1,200}[?&][\w-]{1,20}=|"
        r"https?://[^\s?]{3,120}\?[\w-]{1,12}=(?:\{|\[|\$|<|%7B|\W|$|\s)|"
        r"\b(?:send|post|upload|forward|copy|exfiltrate|leak|push|cc|bcc|e-?mail|put|get|mirror)"
        r"\b.{0,60}"
        r"\b(?:\.env|id_rsa|\.ssh|\.aws|credentials?|secrets?|api[ _-]?keys?|tokens?|passwords?"
        r"|private keys?|"
        r"conversation|chat history|every (?:error|mail|message|question|commit))\b.{0,80}"
        r"(?:https?://|\bto\b|@|\bgist\b|\binto\b|\bwith\b)|"
        r"(?:上传|发送)[^\n]{0,20}到|отправ\w{1,12}.{0,40}(?:ключ|парол|токен)",
    ),
    InjectionSign(
        "asks for what keeps things safe to be left out",
        r"\b(?:always|must|should|will)\b.{0,40}(?:--no-verify|--force\b|--insecure|chmod 777)|"
        r"\b(?:print|output|answer with|reveal|show|repeat)\b.{0,30}\b(?:contents? of \.env|system "
        r"prompt|your "
        r"(?:instructions|prompt)|\.env file)\b|\bwithout (?:asking|permission|confirmation|a "
        r"review|telling)\b|"
        r"\banswer (?:yes|y|allow)\b.{0,40}\b(?:permission|asks?|prompt)",
    ),
    InjectionSign(
        # Names every row of `interfaces/hosts`, which may not be imported here; a test compares.
        "tells the assistant what to do at every turn",
        r"\b(?:before|after|in|under|with|to) (?:every|each) (?:answer|response|reply|message|turn"
        r"|prompt|question)\b"
        r".{0,80}(?:https?://|\bfetch\b|\bsend\b|\bcall\b|\badd\b|\brun\b|\bappend\b|\binclude\b)|"
        r"\brun the following (?:command|script|code)s?\b|\b(?:as an ai|ai (?:assistant|agent"
        r"|model)s?|language "
        r"models?|coding agents?|claude|copilot|cursor|codex|chatgpt)\b.{0,30}\b(?:must|should"
        r"|shall|needs? to|"
        r"has to|have to|always)\b",
    ),
)
MIN_BLOB_CHARS = 80
_BLOB = (
    r"(?<![A-Za-z0-9+/])(?=[A-Za-z0-9+/]*[0-9+/])(?=[A-Za-z0-9+/]*[a-z])(?=[A-Za-z0-9+/]*[A-Z])"
    rf"[A-Za-z0-9+/]{{{MIN_BLOB_CHARS},}}={{0,2}}"
)
_HIDDEN = "[\u200b-\u200f\u2060-\u2064\u202a-\u202e\u2066-\u2069\U000e0000-\U000e01ef]"


# Each alternative is compiled where a text has some of its letters: all of them take 15 ms.
_SIGNS = tuple(
    (sign.reason, GuardedPattern(split_alternatives(sign.pattern), re.IGNORECASE | re.DOTALL))
    for sign in INJECTION_SIGNS
)
_SIGN_GUARD = PatternGuard(sign.pattern for sign in INJECTION_SIGNS)


def find_prompt_injection(text: str) -> str:
    """Why a text looks as if it was planted to be obeyed, in words for a person; "" if not."""
    return next(iter_injection_signs(text), "")


def iter_injection_signs(text: str) -> Iterator[str]:
    """Every reason for which a text looks as if it was planted to be obeyed."""
    head = text[:MAX_CHARS_CHECKED]
    if len(re.findall(_HIDDEN, head)) > 8:
        yield HIDDEN_CHARACTERS
    plain = unicodedata.normalize("NFKC", re.sub(_HIDDEN, "", head))
    for number in _SIGN_GUARD.select(plain):
        reason, pattern = _SIGNS[number]
        if pattern.search(plain):
            yield reason
    has_long_word = max(map(len, plain.split()), default=0) >= MIN_BLOB_CHARS
    if has_long_word and compile_once(_BLOB).search(plain):
        yield "holds a block of encoded data"


def find_pasted_order(text: str) -> str:
    """Why words in a user's message are somebody else's although nothing quotes them; "" if not.

    People do tell their assistant to skip a question or to keep something from others, so one such
    sign proves nothing; two different ones do, and so does what nobody tells their own assistant.
    """
    signs = dict.fromkeys(iter_injection_signs(text))
    foreign = {HIDDEN_CHARACTERS, *(sign.reason for sign in INJECTION_SIGNS if sign.foreign)}
    strong = next((reason for reason in signs if reason in foreign), "")
    return strong or (next(iter(signs)) if len(signs) > 1 else "")
