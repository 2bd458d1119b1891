"""Families of tools of which a project has one, so that "use pnpm instead" says what it corrects.

A row is a family; names of one tool stand together with "=". A name belongs here when it means
little else in talk about software ("go" and "fish" would be found where nobody means them).
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
    """Name → (number of its family, first name of the tool)."""
    index: dict[str, tuple[int, str]] = {}
    for family, line in enumerate(FAMILIES.strip().splitlines()):
        for group in line.split():
            names = group.split("=")
            index |= dict.fromkeys(names, (family, names[0]))
    return index


# Neither part of a path nor of a longer name: `npm` in npm-check is another tool.
_WORD = re.compile(r"(?<![\w./@-])[A-Za-z]\w*(?![\w/@-]|\.\w)")


def find_named_tools(text: str) -> dict[int, dict[str, str]]:
    """Family → tool → its name as it is written first in a text."""
    found: dict[int, dict[str, str]] = {}
    for word in _WORD.findall(text):
        known = _index_tools().get(word.lower())
        if known:
            family, tool = known
            found.setdefault(family, {}).setdefault(tool, word)
    return found


def find_replaced_tool(text: str, before: str) -> str:
    """The tool in `before` that a correction replaces by another of its family.

    "" unless exactly one family has exactly one tool on each side.
    """
    earlier = find_named_tools(before)
    replaced: list[str] = []
    for family, wanted in find_named_tools(text).items():
        named = earlier.get(family, {})
        if len(wanted) == 1 and len(named) == 1 and named.keys() != wanted.keys():
            replaced += named.values()
    return replaced[0] if len(replaced) == 1 else ""
