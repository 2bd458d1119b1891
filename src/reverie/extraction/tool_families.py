"""Tools of which a project has one, so that "use pnpm instead" says what it corrects: what the
agent had named.

A row is a family of names of which one is usually chosen; names of one tool stand together with
"=". A name belongs here when it means little else in talk about software ("go" and "fish" would be
found where nobody means them).
"""

import re
from functools import cache

FAMILIES = """
npm pnpm yarn bun
pip uv poetry pipenv conda pdm
cargo bazel
maven=mvn gradle
pytest unittest nose2
jest vitest mocha
black ruff yapf autopep8
eslint biome tslint prettier
github gitlab bitbucket gitea
postgres=postgresql=psql mysql sqlite=sqlite3 mongodb=mongo mariadb cockroachdb
bash zsh powershell
docker podman
webpack vite rollup esbuild
flask django fastapi
requests httpx aiohttp
mypy pyright
"""


@cache
def _index_tools() -> dict[str, tuple[int, str]]:
    """Name → (its family, the tool that it names)."""
    return {
        name: (row, group.split("=")[0])
        for row, line in enumerate(FAMILIES.strip().splitlines())
        for group in line.split()
        for name in group.split("=")
    }


_WORD = re.compile(r"(?<![\w./@-])[A-Za-z]\w*(?![\w/@-]|\.\w)")


def find_named_tools(text: str) -> dict[int, dict[str, str]]:
    """Family → tools of it that a text names, each as it is written there first."""
    found: dict[int, dict[str, str]] = {}
    for word in _WORD.findall(text):
        if known := _index_tools().get(word.lower()):
            found.setdefault(known[0], {}).setdefault(known[1], word)
    return found


def find_replaced_tool(text: str, before: str) -> str:
    """What a correction does away with: where it names one tool, and what was said before names
    exactly one other of the same family. Empty where that is not plain.
    """
    said, wanted = find_named_tools(before), find_named_tools(text)
    plain = [
        next(iter(said[row].values()))
        for row, tools in wanted.items()
        if len(tools) == 1 and len(said.get(row, ())) == 1 and said[row].keys() != tools.keys()
    ]
    return plain[0] if len(plain) == 1 else ""
