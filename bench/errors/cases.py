"""Errors, each made by really running a tool: files to write, then a command.

Every case is run three times: in another folder, with the offending line elsewhere (`{pad}`),
another number (`{n}`) and another file name (`{stem}`). All three are the same error; two cases are
different errors, also where only a name differs, for another name needs another remedy. `TUNED`
were looked at while the signature was written, `HELD_OUT` were not; `LATER` are of tools that were
added afterwards, and were first measured with the signature as it stood.
"""

from typing import NamedTuple


class Case(NamedTuple):
    """One error."""

    tool: str
    name: str
    command: str
    files: tuple[tuple[str, str], ...] = ()


def python(name: str, code: str) -> Case:
    """An error of a Python program."""
    return Case("python", name, "python {stem}.py", (("{stem}.py", "{pad}" + code),))


def pytest(name: str, code: str) -> Case:
    """An error in a test."""
    return Case(
        "pytest",
        name,
        "python -m pytest -q -p no:cacheprovider test_{stem}.py",
        (("test_{stem}.py", "{pad}" + code),),
    )


def mypy(name: str, code: str) -> Case:
    """An error of types."""
    return Case(
        "mypy", name, "python -m mypy --no-incremental {stem}.py", (("{stem}.py", "{pad}" + code),)
    )


def ruff(name: str, code: str) -> Case:
    """Something that a linter complains about."""
    return Case(
        "ruff",
        name,
        "python -m ruff check --no-cache --isolated --select E,F,B {stem}.py",
        (("{stem}.py", "{pad}" + code),),
    )


def gcc(name: str, code: str) -> Case:
    """An error of a C program."""
    return Case("gcc", name, "gcc {stem}.c -o {stem}", (("{stem}.c", "{pad}" + code),))


def make(name: str, rule: str) -> Case:
    """An error of a build."""
    return Case("make", name, "make", (("Makefile", "{pad}" + rule),))


def sqlite(name: str, sql: str) -> Case:
    """An error of a database."""
    return Case("sqlite", name, "sqlite3 {stem}.db < {stem}.sql", (("{stem}.sql", "{pad}" + sql),))


def node(name: str, code: str) -> Case:
    """An error of a JavaScript program."""
    return Case("node", name, "node {stem}.js", (("{stem}.js", "{pad}" + code),))


def rust(name: str, code: str) -> Case:
    """An error of a Rust program."""
    return Case("rustc", name, "rustc {stem}.rs", (("{stem}.rs", "{pad}" + code),))


def cmake(name: str, code: str) -> Case:
    """An error of a build's description."""
    return Case("cmake", name, "cmake -S . -B build{n}", (("CMakeLists.txt", "{pad}" + code),))


def tsc(name: str, code: str, options: str = "") -> Case:
    """An error of a TypeScript program."""
    return Case(
        "tsc",
        name,
        f"tsc --noEmit --strict --types '' {options} {{stem}}.ts",
        (("{stem}.ts", "{pad}" + code),),
    )


def eslint(name: str, rules: str, code: str) -> Case:
    """Something that a linter of JavaScript complains about."""
    return Case(
        "eslint",
        name,
        "eslint {stem}.js",
        (
            ("eslint.config.js", f"module.exports = [{{{{ rules: {{{{ {rules} }}}} }}}}];\n"),
            ("{stem}.js", "{pad}" + code),
        ),
    )


def go(name: str, code: str, command: str = "go run {stem}.go") -> Case:
    """An error of a Go program."""
    return Case(
        "go",
        name,
        command,
        (
            ("go.mod", "module example.com/{stem}\n\ngo 1.19\n"),
            ("{stem}.go", "package main\n\n{pad}" + code),
        ),
    )


def go_test(name: str, what: str) -> Case:
    """A test of a Go program that fails."""
    return Case(
        "go",
        name,
        "go test ./...",
        (
            ("go.mod", "module example.com/{stem}\n\ngo 1.19\n"),
            (
                "{stem}_test.go",
                f'package a\n\nimport "testing"\n\n{{pad}}func Test{what.title()}(t *testing.T) '
                f'{{{{\n\tt.Errorf("{what} is %d", {{n}})\n}}}}\n',
            ),
        ),
    )


def cargo(name: str, code: str, command: str = "cargo build --offline", more: str = "") -> Case:
    """An error of a Rust package."""
    return Case(
        "cargo",
        name,
        command,
        (
            (
                "Cargo.toml",
                '[package]\nname = "{stem}"\nversion = "0.{n}.0"\nedition = "2021"\n[lib]\n'
                'path = "{stem}.rs"\n' + more,
            ),
            ("{stem}.rs", "{pad}" + code),
        ),
    )


REPOSITORY = "git init -q . && git config user.email a@b.c && git config user.name a && "

TUNED = (
    python("module yaml2", "import yaml2\n"),
    python("module numpyy", "import numpyy\n"),
    python("key user", "print({{'id': {n}}}['user'])\n"),
    python("key name", "print({{'id': {n}}}['name'])\n"),
    python("no file", "open('/tmp/nothing/{n}/{stem}.cfg')\n"),
    python("index", "print([][{n}])\n"),
    python("division", "print({n} / 0)\n"),
    python("attribute", "x = {n}\nx.append({n})\n"),
    python("int of text", "int('a{n}')\n"),
    python(
        "chained",
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise RuntimeError('no answer after {n} tries')\n",
    ),
    pytest("fixture", "def test_it(nothing):\n    pass\n"),
    pytest("raises", "def test_it():\n    raise ValueError('row {n} is bad')\n"),
    pytest("import", "import left_pad\n"),
    mypy("return", "def f() -> int:\n    return 'x'\n"),
    mypy("argument", "def f(a: int) -> None: ...\nf('x')\n"),
    mypy("attribute", "x: list[int] = []\nx.push({n})\n"),
    ruff("unused", "import os\n"),
    ruff("undefined", "print(nothing)\n"),
    gcc("undeclared", "int main(void) {{ return lenght + {n}; }}\n"),
    gcc("header", "#include <nothing.h>\n"),
    gcc("semicolon", "int main(void) {{ int a = {n} return a; }}\n"),
    gcc("link", "int helper(int);\nint main(void) {{ return helper({n}); }}\n"),
    make("no rule", "all: missing.o\n\t@echo {n}\n"),
    make("failing", "all:\n\t@exit {n}\n"),
    make("separator", "all:\n    echo {n}\n"),
    Case("git", "no repository", "git -c safe.directory=* --git-dir=nothing{n} status"),
    Case("git", "pathspec", REPOSITORY + "git checkout nothing"),
    Case("git", "remote", REPOSITORY + "git push origin main"),
    Case("git", "no commits", REPOSITORY + "git log"),
    Case("bash", "command", "bash -c 'nothingtool {n}'"),
    Case("bash", "other command", "bash -c 'yarnn install {n}'"),
    Case("bash", "syntax", "bash {stem}.sh", (("{stem}.sh", "{pad}if true; then\n"),)),
    Case("bash", "permission", "touch {stem}.sh && chmod -x {stem}.sh && bash -c ./{stem}.sh"),
    Case("bash", "no folder", "cd /nothing/{n}/{stem}"),
    Case("pip", "no package", "python -m pip install --no-index nothing-there"),
    Case("pip", "no requirements", "python -m pip install -r {stem}{n}.txt"),
    sqlite("no table", "select {n} from nothing;\n"),
    sqlite("no column", "create table t (a);\nselect b, {n} from t;\n"),
    sqlite("syntax", "selct {n};\n"),
    sqlite("unique", "create table t (a unique);\ninsert into t values ({n}), ({n});\n"),
    node("module", "require('left-pad');\n"),
    node("undefined", "console.log(nothing + {n});\n"),
    node("property", "const x = undefined;\nx.name{pad};\n"),
    node("syntax", "const a = {{ b: {n};\n"),
    Case(
        "npm",
        "script",
        "npm run nothing",
        (("package.json", '{{"name": "{stem}", "version": "1.0.{n}"}}'),),
    ),
    Case("npm", "no package.json", "npm test"),
    rust("undefined", 'fn main() {{ println!("{{}}", nothing); }}\n'),
    rust("types", 'fn main() {{ let a: u32 = "x"; }}\n'),
    rust(
        "moved", 'fn main() {{ let a = String::new(); let b = a; println!("{{}}{{}}", a, b); }}\n'
    ),
    cmake(
        "package",
        "cmake_minimum_required(VERSION 3.5)\nproject(x C)\nfind_package(Nothing REQUIRED)\n",
    ),
    cmake("command", "cmake_minimum_required(VERSION 3.5)\nproject(x C)\nnothing({n})\n"),
)

HELD_OUT = (
    python("type", "'a' + {n}\n"),
    python("name", "print(nothing_here)\n"),
    python("other name", "print(something_else)\n"),
    python("syntax", "if True\n    print({n})\n"),
    python("indent", "def f():\nprint({n})\n"),
    python("arguments", "def f(a): pass\nf({n}, {n})\n"),
    python("import name", "from os import nothing\n"),
    python("encoding", "b'\\xff{n}'.decode()\n"),
    python("recursion", "def f(x): return f(x)\nf({n})\n"),
    python("json", "import json\njson.loads('{{' + ' ' * {n})\n"),
    python("socket", "import socket\nsocket.create_connection(('127.0.0.1', 1), timeout=1)\n"),
    pytest("attribute", "def test_it():\n    (1).push({n})\n"),
    pytest("key", "def test_it():\n    {{}}['port']\n"),
    mypy("undefined", "print(nothing)\n"),
    mypy("none", "x: int | None = None\nx + {n}\n"),
    mypy("stub", "import nothing_there\n"),
    ruff("bare except", "try:\n    pass\nexcept:\n    pass\n"),
    ruff("mutable default", "def f(a=[]):\n    return a\n"),
    gcc(
        "few arguments",
        "int f(int a, int b) {{ return a + b; }}\nint main(void) {{ return f({n}); }}\n",
    ),
    gcc("type", "struct s {{ int a; }};\nint main(void) {{ struct s x; return x + {n}; }}\n"),
    gcc("member", "struct s {{ int a; }};\nint main(void) {{ struct s x; return x.b + {n}; }}\n"),
    make("circular tool", "all:\n\tnothingtool {n}\n"),
    Case(
        "git",
        "branch exists",
        REPOSITORY + "git commit -q --allow-empty -m x && git branch a && git branch a",
    ),
    Case("git", "bad revision", REPOSITORY + "git commit -q --allow-empty -m x && git show v{n}"),
    Case("git", "clone", "git clone /nothing/{n}/{stem}"),
    Case("bash", "unbound", "bash -uc 'echo $NOTHING'"),
    Case("bash", "is a folder", "mkdir {stem}{n} && cat {stem}{n}"),
    Case("bash", "grep file", "grep x {stem}{n}.txt"),
    Case("bash", "tar", "tar xf {stem}{n}.tar"),
    sqlite("not null", "create table t (a not null);\ninsert into t values (null);\n"),
    sqlite("exists", "create table t (a);\ncreate table t (a);\n"),
    node("call", "const x = {n};\nx();\n"),
    node("json", "JSON.parse('{{' + 'x'.repeat(3));\n"),
    node("thrown", "throw new RangeError('page ' + {n} + ' is too far');\n"),
    node("file", "require('fs').readFileSync('/nothing/{n}/{stem}.json');\n"),
    Case("npm", "bad json", "npm run x", (("package.json", '{{"name": "{stem}",'),)),
    Case(
        "npm",
        "bad version",
        "npm version nonsense",
        (("package.json", '{{"name": "{stem}", "version": "1.0.{n}"}}'),),
    ),
    rust("borrow", 'fn main() {{ let a = {n}; a = 2; println!("{{}}", a); }}\n'),
    rust("method", "fn main() {{ let a: u32 = {n}; a.push(1); }}\n"),
    Case("perl", "module", "perl {stem}.pl", (("{stem}.pl", "{pad}use Nothing::There;\n"),)),
    Case("perl", "syntax", "perl {stem}.pl", (("{stem}.pl", "{pad}my $x = ;\n"),)),
    Case(
        "java",
        "symbol",
        "java {stem}.java",
        (
            (
                "{stem}.java",
                "{pad}class A {{ public static void main(String[] a) "
                "{{ System.out.println(nothing + {n}); }} }}\n",
            ),
        ),
    ),
    Case(
        "java",
        "thrown",
        "java {stem}.java",
        (
            (
                "{stem}.java",
                "{pad}class A {{ public static void main(String[] a) "
                "{{ int[] x = new int[2]; x[{n}] = 1; }} }}\n",
            ),
        ),
    ),
    Case("docker", "no daemon", "DOCKER_HOST=unix:///nothing/{n}.sock docker ps"),
)

LATER = (
    tsc("undefined", "console.log(nothing + {n});\n"),
    tsc("other undefined", "console.log(something + {n});\n"),
    tsc("assigned", "const a: number = 'x{n}';\n"),
    tsc("argument", "function f(a: number) {{ return a; }}\nf('x');\n"),
    tsc("module", "import {{ pad }} from 'left-pad';\npad({n});\n"),
    tsc("own module", "import {{ pad }} from './nothing{n}';\npad({n});\n"),
    tsc("scoped module", "import {{ pad }} from '@nothing/pad';\npad({n});\n"),
    tsc("other scoped module", "import {{ pad }} from '@nothing/fill';\npad({n});\n"),
    tsc("property", "const a = {{ b: {n} }};\na.port;\n"),
    tsc("like property", "const a = {{ length: {n} }};\na.lenght;\n"),
    tsc("missing property", "const a: {{ host: string; port: number }} = {{ port: {n} }};\n"),
    tsc("implicit any", "export function f(a) {{ return a; }}\n"),
    tsc("null", "const a: string | null = Math.random() > {n} ? 'x' : null;\na.length;\n"),
    tsc("syntax", "const a = {{ b: {n};\n"),
    tsc("pretty", "const a: boolean = {n};\n", "--pretty"),
    tsc("several", "const a: number = 'x';\nconst b: string = {n};\n"),
    Case("tsc", "no file", "tsc --noEmit {stem}{n}.ts"),
    Case("tsc", "option", "tsc --nothing {n}"),
    eslint("unused", "'no-unused-vars': 'error'", "const left = {n};\n"),
    eslint("other unused", "'no-unused-vars': 'error'", "const right = {n};\n"),
    eslint("undefined", "'no-undef': 'error'", "nothing({n});\n"),
    eslint("equality", "eqeqeq: 'error'", "export const f = (a) => a == {n};\n"),
    eslint("syntax", "", "const a = {{ b: {n};\n"),
    eslint("two rules", "'no-undef': 'error', 'no-var': 'error'", "var a = nothing;\n"),
    eslint("no rule", "'nothing-there': 'error'", "const a = {n};\n"),
    Case("eslint", "no configuration", "eslint {stem}.js", (("{stem}.js", "{pad}let a = {n};\n"),)),
    go("undefined", "func main() {{ println(nothing, {n}) }}\n"),
    go("other undefined", "func main() {{ println(something, {n}) }}\n"),
    go("unused variable", "func main() {{ left := {n} }}\n"),
    go("unused import", 'import "os"\n\nfunc main() {{ println({n}) }}\n'),
    go("types", "func main() {{ var a string = {n}; println(a) }}\n"),
    go("arguments", "func f(a int) {{}}\nfunc main() {{ f({n}, {n}) }}\n"),
    go("no return", "func f() int {{}}\nfunc main() {{ println(f(), {n}) }}\n"),
    go("syntax", "func main() {{ println({n} }}\n"),
    go("package", 'import "nothing/there"\n\nfunc main() {{ there.F({n}) }}\n'),
    go("module", 'import "github.com/nothing/there"\n\nfunc main() {{ there.F({n}) }}\n'),
    go("other module", 'import "github.com/nothing/here"\n\nfunc main() {{ here.F({n}) }}\n'),
    go("index", "func main() {{ a := []int{{1}}; i := {n}; println(a[i]) }}\n"),
    go("nil map", "func main() {{ var a map[int]int; a[{n}] = 1 }}\n"),
    go(
        "nil pointer",
        "type t struct {{ a int }}\n\nfunc main() {{ var p *t; println(p.a + {n}) }}\n",
    ),
    go("vet", 'import "fmt"\n\nfunc main() {{ fmt.Printf("%d", "x{n}") }}\n', "go vet {stem}.go"),
    Case("go", "no module", "go build ./...", (("{stem}.go", "package main\n"),)),
    go_test("test", "sum"),
    go_test("other test", "mean"),
    cargo("undefined", "pub fn f() -> u32 {{ nothing + {n} }}\n"),
    cargo("types", "pub fn f() -> String {{ {n} }}\n"),
    cargo("crate", "use serde::Serialize;\npub fn f(_: impl Serialize) -> u32 {{ {n} }}\n"),
    cargo("own module", "mod nothing;\npub fn f() -> u32 {{ {n} }}\n"),
    cargo("field", "pub struct A {{ a: u32 }}\npub fn f(x: A) -> u32 {{ x.b + {n} }}\n"),
    cargo(
        "lifetime",
        "pub fn f(a: &str, b: &str) -> &str {{ if a.len() > {n} {{ a }} else {{ b }} }}\n",
    ),
    cargo("match", "pub fn f(a: Option<u32>) -> u32 {{ match a {{ Some(x) => x + {n} }} }}\n"),
    cargo(
        "dependency", "pub fn f() -> u32 {{ {n} }}\n", more='[dependencies]\nnothing-there = "1"\n'
    ),
    cargo("manifest", "pub fn f() -> u32 {{ {n} }}\n", more="[dependencies\n"),
    cargo("test", '#[test]\nfn sums() {{ assert_eq!({n}, 1, "sums"); }}\n', "cargo test --offline"),
    cargo(
        "other test",
        '#[test]\nfn means() {{ assert_eq!({n}, 1, "means"); }}\n',
        "cargo test --offline",
    ),
    Case("cargo", "no manifest", "cargo build --offline"),
    Case("cargo", "command", "cargo nothing"),
    Case("maven", "no pom", "mvn -o -q package"),
    Case(
        "maven",
        "phase",
        "mvn -o -q nothing",
        (
            (
                "pom.xml",
                "<project><modelVersion>4.0.0</modelVersion><groupId>a"
                "</groupId><artifactId>{stem}</artifactId><version>{n}</version></project>",
            ),
        ),
    ),
    Case(
        "javac",
        "symbol",
        "javac {stem}.java",
        (("{stem}.java", "{pad}class A {{ int f() {{ return nothing + {n}; }} }}\n"),),
    ),
    Case(
        "javac",
        "other symbol",
        "javac {stem}.java",
        (("{stem}.java", "{pad}class A {{ int f() {{ return something + {n}; }} }}\n"),),
    ),
    Case(
        "javac",
        "types",
        "javac {stem}.java",
        (("{stem}.java", "{pad}class A {{ String f() {{ return {n}; }} }}\n"),),
    ),
    Case(
        "javac",
        "package",
        "javac {stem}.java",
        (
            (
                "{stem}.java",
                "{pad}import org.nothing.There;\nclass A {{ int f() {{ return {n}; }} }}\n",
            ),
        ),
    ),
    Case(
        "javac",
        "semicolon",
        "javac {stem}.java",
        (("{stem}.java", "{pad}class A {{ int f() {{ return {n} }} }}\n"),),
    ),
)
