r"""Which errors are the same: what is left of an error's text without what changes from run to run.

Of an output, only the lines that tell the error count, at most three; in them paths, numbers,
addresses, hashes, ids and times become marks. Names stay: `No module named 'yaml'` and `No module
named 'numpy'` need different remedies. What stands in quotes is a name unless it is a path, a
number, an address, or several words.

`python -m bench.errors` measures this on real outputs of compilers, interpreters and tools.
"""

import re
from functools import lru_cache
from typing import NamedTuple

# Characters of an output, from its end and from its beginning.
MAX_SCANNED_CHARS = 20_000
# Lines that tell an error.
MAX_LINES = 3
# Characters of one.
MAX_LINE_CHARS = 300
# Share of words in common from which two errors of one code are alike.
MIN_SHARED_WORDS = 0.8
# How far an error is the same as one that says more of it.
TOLD_SHORTER = 0.9


class FailureSignature(NamedTuple):
    """An error without what changes from run to run."""

    key: str  # equal for equal errors; empty where no error is told
    code: str  # what kind of error: "ModuleNotFoundError", "TS2304", "E0425"; may be empty
    line: str  # the line that tells most, as it stood there


ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|"
    r"\r(?!\n)|[\x00-\x08\x0b-\x1a]"
)

# Lines that tell an error, the most telling kind first: of the first kind that occurs, lines are
# taken.
ERROR_LINE_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"^E {3,}(?=\S*(?:Error|Exception|Failed|Warning|Exit)\b|fixture ')",  # pytest
        r"^(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|Iteration|"
        r"Group)(?: \[\w+\])?(?::|$)",
        r"^Exception in thread|^Caused by: ",  # Java
        # Of git and ssh, the reason stands above the error.
        r"^\s*! \[(?:remote )?rejected\]|^error: failed to push some refs",
        r"Permission denied \(|^Host key verification failed",
        r"\bpanicked at ",  # Rust
        r"^\s*--- FAIL: |^\s+\S+_test\.go:\d+: ",  # go test
        r"^\s*\d+:\d+\s+error\s",  # eslint
        r"\berror(?: ?\[?[A-Z]+\d+\]?)?: |\bfatal error\b|\berror TS\d+|"
        r": undefined reference to|^(?:\[ERROR\])? +symbol: ",  # the last: javac
        r"^\[ERROR\] ",  # Maven
        r"^\S+\.go:\d+:\d+: ",
        r"^\S+:\d+(?::\d+)?: [A-Z]+\d+ ",  # ruff, flake8
        r"^[A-Z]{1,4}\d{3,4} ",  # ruff, full
        r"^npm (?:ERR!|error) (?!A complete log|code \w+$|$)",
        r"^CMake Error|^make(?:\[\d+\])?: \*\*\*",
        r"^(?:fatal|error|ERROR|Error|FAILED|panic|ERR!)\b\S*:?",
        r"\b(?:fatal|panic|command not found|[Nn]o such file|[Pp]ermission denied|"
        r"[Cc]onnection refused|not found|cannot|could not|couldn't|unable to|denied|refused|"
        r"failed|invalid|unknown|unrecognized|unexpected|missing|near \")",
    )
)
NOISE_LINE = re.compile(
    r"^\s*(?:[|+~^=\-*#.]+\s*$|Traceback|File \"|at \S+ ?\(|During handling|The above exception|"
    r"\d+ error|Found \d+ error|compilation terminated|collect2: |Exit code|"
    r"make(?:\[\d+\])?: (?:Entering|Leaving)|In file included|\S+: In function|"
    r"npm (?:ERR!|error) A complete log|✖ \d+ problem|exit status|FAIL(?:\s*$|\t)|"
    r"error: (?:could not compile|aborting due to|test failed, to rerun)|"
    r"\[ERROR\] *(?:$|To see|Re-run|For more|\[Help|COMPILATION ERROR))"
)
# Rust says on the next line why.
RUST_PANIC = re.compile(r"(\bpanicked at \S+:)\n")
ERROR_CODE = re.compile(
    r"\b([A-Za-z_]\w*(?:Error|Exception|Interrupt|Warning|Exit))\b|\b(TS\d+)|error\[(E\d+)\]|"
    r"\b(E(?!RROR\b)[A-Z]{3,}\d*|[A-Z]{1,4}\d{3,4})\b|\[([a-z]+(?:-[a-z]+)+|-W[\w=-]+|syntax|"
    r"misc|operator|index)\]\s*$"
)

QUOTED_TEXT = re.compile(
    r"'([^'\n]{1,300})'|\"([^\"\n]{1,300})\"|`([^`\n]{1,300})`|‘([^’\n]{1,300})’|“([^”\n]{1,300})”"
)
# These messages quote a value that was met, not a name.
QUOTED_VALUE = re.compile(
    r"((?:invalid literal|could not convert|invalid value|invalid choice|time data|unable to parse|"
    r"cannot parse|not a git repository|has arg|"
    r"push some refs to)[^'\"\n]{0,60}?)(?:'[^'\n]*'|\"[^\"\n]*\")"
)
VOLATILE_PATTERNS = {
    re.compile(pattern): mark
    for pattern, mark in {
        r"\bwhile parsing ['\"{\[].*": "while parsing <text>",
        r"(?<=rejected\] )\s*\S+ -> \S+": "<ref>",
        r"^[\w.+-]+@[\w.-]+(?=: )|\b[\w.+-]+@(?:[\w-]+\.)+[a-z]{2,}\b": "<address>",
        r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>)]+": "<url>",
        r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b": "<id>",
        r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?": "<time>",
        r"\b\d\d?:\d\d:\d\d(?:[.,]\d+)?\b": "<time>",
        r"\b0[xX][0-9a-fA-F]+\b": "<hex>",
        r"\blocalhost\b(?::\d+)?": "<address>",
        r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b": "<address>",
        r"(?<![\w.])(?:[A-Za-z]:\\|\\\\)[^\s'\":*?<>|]+": "<path>",
        r"(?<![\w<>/])(?:~|\.{1,2})?/(?:[\w.@+~%-]+/)*[\w.@+~%-]*[\w@~%-]": "<path>",
        r"(?<![\w<>/])(?:[\w.@+~-]+/)+[\w.@+~-]*[\w~]": "<path>",
        r"\b[\w-]+(?:\.[\w-]+)*\.(?:py|pyi|js|mjs|cjs|jsx|ts|tsx|json|ya?ml|toml|c|cc|cpp|cxx|"
        r"h|hpp|o|so|a|rs|go|java|rb|php|sh|txt|md|csv|cfg|ini|lock|log|sql|db|xml|html|css|"
        r"mk|cmake|sqlite3?|pl|pm|patch|diff|whl|gz|zip|tar|tgz|bz2|xz|jar|ipynb|proto|png|"
        r"jpe?g|svg|pdf)\b": "<path>",
        r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b": "<hash>",
        r"(?<![\w<])[-+]?v?\d[\d_,]*(?:\.\d+)*(?:e[-+]?\d+)?(?:ns|us|µs|ms|s|m|h|[KMG]i?B|B|"
        r"%)?(?![\w>])": "<n>",
    }.items()
}
# What looks like a path and is the name of a module or package: a different one needs another
# remedy.
PACKAGE_NAME = re.compile(
    r"(?<![\w./@-])@[a-z0-9][\w.-]*/[\w.-]+|(?<![\w./@:-])(?:[a-z0-9-]+\.)+[a-z]{2,4}/[\w./-]*\w|"
    r"\b(?:package|module|crate|plugin|preset|dependency|import|config)s?:? ['\"`(]?"
    r"\w[\w-]*(?:/[\w-]+)+(?![\w./-])"
)
SOURCE_LOCATION = re.compile(r"<path>(?:[:(,]<n>)+\)?")
# Stands for a slash in a name while paths become marks.
KEPT_SLASH = "\0"
# What stands before an error: which program tells it, wherever that is.
PROGRAM_PATH = re.compile(r"^(?:/|[A-Za-z]:\\)\S*[/\\]([\w.+-]+): (?=\D)")
# A name that begins with a slash, as containers have it.
SLASHED_NAME = re.compile(r"/[\w-]+\Z")
# Words of an error to which a further reason may be added, and it is still the same.
MIN_PREFIX_WORDS = 4
WHITESPACE = re.compile(r"\s+")
SIGNATURE_WORD = re.compile(r"<?[\w.-]+>?")


def compute_failure_signature(error: str) -> FailureSignature:
    """The signature of an error's text, which may be all that a command printed."""
    lines = extract_error_lines(error)
    if not lines:
        return FailureSignature("", "", "")
    parts = tuple(dict.fromkeys(filter(None, map(normalize_error_line, lines))))
    return FailureSignature(
        "\n".join(parts), find_error_code(lines), " ".join(lines[0].split())[:MAX_LINE_CHARS]
    )


def extract_error_lines(error: str) -> list[str]:
    """The lines of an output that tell its error."""
    text = RUST_PANIC.sub(r"\1 ", ANSI.sub("", error))
    if len(text) > 2 * MAX_SCANNED_CHARS:
        text = f"{text[:MAX_SCANNED_CHARS]}\n{text[-MAX_SCANNED_CHARS:]}"
    lines = [
        line.strip("\r")
        for line in text.splitlines()
        if line.strip() and not NOISE_LINE.match(line)
    ]
    for pattern in ERROR_LINE_PATTERNS:
        found = [line.strip() for line in lines if pattern.search(line)]
        if found:
            # Of several Python exceptions the last one, which is what was seen. pytest, the first
            # pattern, tells each failed test's own.
            is_python = pattern is ERROR_LINE_PATTERNS[1]
            return found[-1:] if is_python else found[:MAX_LINES]
    return [line.strip() for line in lines[-1:]]


@lru_cache(maxsize=4_096)
def normalize_error_line(line: str) -> str:
    """A line with marks in place of all that changes from run to run."""
    line = PROGRAM_PATH.sub(r"\1: ", line[: 4 * MAX_LINE_CHARS])
    line = QUOTED_VALUE.sub(r"\1'<text>'", line)
    line = QUOTED_TEXT.sub(replace_quoted_text, line)
    # Before paths become marks: the name of a package is no path.
    line = PACKAGE_NAME.sub(
        lambda name: name[0].replace("/", KEPT_SLASH),
        line,
    )
    for pattern, mark in VOLATILE_PATTERNS.items():
        line = pattern.sub(mark, line)
    line = SOURCE_LOCATION.sub("<path>", line).replace(KEPT_SLASH, "/")
    line = line.replace("<path> - error", "<path>: error")
    return WHITESPACE.sub(" ", line).strip().lower()[:MAX_LINE_CHARS]


def replace_quoted_text(match: re.Match[str]) -> str:
    """A quotation as it stays: a name or a piece of code; a longer text becomes a mark."""
    inner = get_matched_group(match)
    if SLASHED_NAME.match(inner):
        inner = inner.replace("/", KEPT_SLASH)
    # A short text in quotes is a name, and so is a longer one that looks like code.
    is_name = " " not in inner or len(inner) < 40 or re.search(r"[(<\[*&]", inner)
    return f"'{inner}'" if is_name else "'<text>'"


def find_error_code(lines: list[str]) -> str:
    """The name of the kind of error that these lines tell; empty if it has none."""
    for line in lines:
        if found := ERROR_CODE.search(line):
            return get_matched_group(found)
    return ""


def get_matched_group(match: re.Match[str]) -> str:
    """The one group that took part in a match of alternatives with a group each."""
    return str(match[match.lastindex or 0])


def compare_signatures(one: FailureSignature, other: FailureSignature) -> float:
    """How far two errors are the same, 0..1: 1 for equal signatures, less where one says a little
    more.

    0 where codes or names differ, or where each has words that the other has not: one word for
    another is a name.
    """
    if not one.key or not other.key:
        return 0.0
    if one.key == other.key:
        return 1.0
    if is_told_shorter(one.key, other.key) or is_told_shorter(other.key, one.key):
        return TOLD_SHORTER
    # Another module needs another remedy, however alike the words.
    if one.code != other.code or list_quoted_names(one.key) != list_quoted_names(other.key):
        return 0.0
    ones, others = (set(SIGNATURE_WORD.findall(key)) for key in (one.key, other.key))
    share = len(ones & others) / max(1, len(ones | others))
    return share if share >= MIN_SHARED_WORDS and (ones <= others or others <= ones) else 0.0


def is_told_shorter(short: str, long: str) -> bool:
    """True if one error is the other without the reason that stands above it or at its end."""
    ones, others = short.splitlines(), long.splitlines()
    if len(ones) < len(others):
        more = set(others) - set(ones)
        return len(more) < len(others) and all(line.startswith("! [") for line in more)
    words = len(SIGNATURE_WORD.findall(ones[0]))
    is_one_line = len(ones) == len(others) == 1
    return is_one_line and words >= MIN_PREFIX_WORDS and others[0].startswith(f"{ones[0]}: ")


def list_quoted_names(key: str) -> tuple[str, ...]:
    """What is named in a signature, in quotes and in order: errors about different things are
    different.
    """
    return tuple(map(get_matched_group, QUOTED_TEXT.finditer(key)))
