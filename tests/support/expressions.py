# mypy: no-check-untyped-defs
"""Every regular expression of the package, and texts that would make one of them stall.

Expressions are compiled when modules are imported, when a cached function is called first, or where
they stand. So all modules are imported, all cached functions without arguments are called (those
that take a language, with every language; and a section, with each that is named), and what stands in a call of `re` or `compile_once` is
evaluated in its module; each compilation notes the line that asked for it. A place of which nothing
was seen is named, so that no expression escapes by being written in a new way.
"""

import ast
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import reverie
from reverie.core.guarded_patterns import GuardedPattern
from reverie.text.prompt_phrases import list_languages, load_language

# The library has no public way to see what is compiled, nor what an expression is made of.
sre_constants = importlib.import_module("re._constants")
sre_parser = importlib.import_module("re._parser")
COMPILER = "_compile"
FUNCTIONS = ("compile", "search", "match", "sub", "subn", "findall", "finditer", "split")
OWN_COMPILERS = ("compile_once", "compile_ascii")
# Modules that start something when they are imported.
PROGRAMS = ("reverie.__main__", "reverie.interfaces.hooks.run", "reverie.surfaces.hooks.run")


class ExpressionCollector:
    """The expressions that were compiled, and the places of the package that asked for them."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, int], tuple[re.Pattern[str], str]] = {}
        self.places: set[tuple[str, int]] = set()
        self.own_folder = str(Path(reverie.__file__).parent)

    def collect(self) -> None:
        """Find all of them."""
        plain = vars(re)[COMPILER]

        def noting(pattern, flags):
            compiled = plain(pattern, flags)
            self.note(compiled)
            return compiled

        vars(re)[COMPILER] = noting
        try:
            for module in self.modules():
                self.evaluate_places(module)
                call_cached_functions(module)
                self.compile_guarded(module)
        finally:
            vars(re)[COMPILER] = plain

    def note(self, compiled) -> None:
        """Note an expression and the line of ours that asked for it; others' are not ours."""
        here: Any = inspect.currentframe()
        frame: FrameType | None = here.f_back.f_back
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith(self.own_folder) and "lazy_patterns" not in name:
                self.places.add((name, frame.f_lineno))
                self.found.setdefault(
                    (compiled.pattern, compiled.flags),
                    (compiled, f"{name.removeprefix(self.own_folder)}:{frame.f_lineno}"),
                )
                return
            if not name.endswith(("re/__init__.py", "functools.py", "lazy_patterns.py")):
                return
            frame = frame.f_back

    def modules(self) -> list[ModuleType]:
        """Every module of the package that can be imported, imported anew."""
        names = [
            found.name
            for found in pkgutil.walk_packages(reverie.__path__, "reverie.")
            if found.name not in PROGRAMS
        ]
        found = []
        for name in names:
            try:
                found.append(importlib.import_module(name))
            except ImportError:  # an extra that is not installed
                continue
        return found

    def compile_guarded(self, module: ModuleType) -> None:
        """Compile what is compiled only where its letters stand in a text."""
        for guarded in find_guarded(vars(module)):
            where = f"{module.__name__}, guarded"
            for pattern in (*guarded.alternatives, guarded.pattern):
                compiled = re.compile(pattern, guarded.flags)
                self.found.setdefault((compiled.pattern, compiled.flags), (compiled, where))

    def evaluate_places(self, module: ModuleType) -> None:
        """Compile what stands as an expression in a module's calls, where it can be known."""
        for call in expression_calls(module):
            try:
                code = compile(ast.Expression(call.args[0]), "<place>", "eval")
                value = eval(code, vars(module))  # our own source
            except (NameError, IndexError, AttributeError, TypeError):
                continue
            flags = 0
            if len(call.args) > 1 and getattr(call.func, "attr", "") == "compile":
                flags = eval(compile(ast.Expression(call.args[1]), "<place>", "eval"), vars(module))
            for keyword in call.keywords:
                if keyword.arg == "flags":
                    code = compile(ast.Expression(keyword.value), "<place>", "eval")
                    flags = eval(code, vars(module))
            if isinstance(value, str):
                compiled = re.compile(value, flags)
                place = (module.__file__ or "", call.lineno)
                self.places.add(place)
                self.found.setdefault(
                    (compiled.pattern, compiled.flags),
                    (compiled, f"{place[0].removeprefix(self.own_folder)}:{place[1]}"),
                )

    def unseen_places(self) -> list[str]:
        """The calls that compile something, of more than an escaped name, and were not seen so."""
        seen: dict[str, list[int]] = {}
        for name, line in self.places:
            seen.setdefault(name, []).append(line)
        unseen = []
        for path in sorted(Path(self.own_folder).rglob("*.py")):
            for call in calls_in(ast.parse(path.read_text("utf-8"))):
                last = call.end_lineno or call.lineno
                if "re.escape" in ast.unparse(call):  # a name of theirs, with fixed marks about it
                    continue
                if not any(call.lineno <= at <= last for at in seen.get(str(path), ())):
                    unseen.append(f"{path.relative_to(self.own_folder)}: {ast.unparse(call)[:80]}")
        return unseen


def find_guarded(values: Any) -> Iterator[GuardedPattern]:
    """The guarded expressions in tables, however deep."""
    if isinstance(values, GuardedPattern):
        yield values
    elif isinstance(values, dict | list | tuple):
        for value in values.values() if isinstance(values, dict) else values:
            yield from find_guarded(value)


def expression_calls(module: ModuleType) -> list[ast.Call]:
    """The calls in a module that compile an expression."""
    try:
        return calls_in(ast.parse(inspect.getsource(module)))
    except OSError:
        return []


def calls_in(tree: ast.AST) -> list[ast.Call]:
    """The calls of `re` and of our own compilers."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            target = node.func
            is_re = (
                isinstance(target, ast.Attribute)
                and isinstance(target.value, ast.Name)
                and target.value.id == "re"
                and target.attr in FUNCTIONS
            )
            if is_re or (isinstance(target, ast.Name) and target.id in OWN_COMPILERS):
                found.append(node)
    return found


def call_cached_functions(module: ModuleType) -> None:
    """Call a module's cached functions, so that what they compile is compiled."""
    for function in list(vars(module).values()):
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is None or getattr(wrapped, "__module__", "") != module.__name__:
            continue
        needed = [
            row.name
            for row in inspect.signature(wrapped).parameters.values()
            if row.default is row.empty
        ]
        function.cache_clear() if hasattr(function, "cache_clear") else None
        if not needed:
            table = function()
            for row in table.values() if isinstance(table, dict) else ():
                # of which one is compiled when something fits it
                if isinstance(getattr(row, "pattern", None), str):
                    row.compile()
        elif needed == ["code"]:
            for code in list_languages():
                function(code)
        elif needed == ["code", "name"]:
            named = [value for value in vars(module).values() if isinstance(value, str)]
            for code in list_languages():
                for name in load_language(code).keys() & named:
                    function(code, name)


def adversarial_units(pattern: str, flags: int) -> list[str]:
    """What a text is to be made of to make an expression stall: its own letters and words."""
    units = [*"\n a0A/<([{\"'`-.:=,_#*|\\\t", "a ", "a.", "a/", "a\n", "A a ", "a-", "= ", '"a']
    words: list[str] = []
    word = ""

    def walk(items) -> None:
        nonlocal word
        for kind, value in items:
            if kind is sre_constants.LITERAL:
                word += chr(value)
                continue
            if word:
                words.append(word)
                word = ""
            for part in value if isinstance(value, tuple | list) else (value,):
                if isinstance(part, sre_parser.SubPattern):
                    walk(part)
                elif isinstance(part, list):
                    for each in part:
                        if isinstance(each, sre_parser.SubPattern):
                            walk(each)
        if word:
            words.append(word)
            word = ""

    walk(sre_parser.parse(pattern, flags))
    distinct = list(dict.fromkeys(words))
    # Of a list of hundreds of words a few stand for all.
    chosen = distinct if len(distinct) <= 12 else distinct[:: len(distinct) // 12 + 1]
    units += chosen
    units += [f"{each} " for each in chosen]
    units.append("".join(distinct[:3]))
    return list(dict.fromkeys(units))


def collect_expressions() -> tuple[list[tuple[re.Pattern[str], str]], list[str]]:
    """The expressions of texts, each with its place; and the places that were not seen.

    In a process of its own: what was imported before compiles nothing any more.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.expressions"],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        check=True,
        timeout=300,
    )
    found, unseen = json.loads(done.stdout)
    return [(re.compile(pattern, flags), where) for pattern, flags, where in found], unseen


def main() -> None:
    """Print them."""
    collector = ExpressionCollector()
    collector.collect()
    found = [
        (pattern, flags, where)
        for (pattern, flags), (_, where) in collector.found.items()
        if isinstance(pattern, str)
    ]
    json.dump((found, collector.unseen_places()), sys.stdout)


if __name__ == "__main__":
    main()
