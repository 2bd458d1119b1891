"""Sessions in which an error was mended, and what is to be said when an error comes again.

`TUNED` were looked at while the code was written, `HELD_OUT` were written before it and looked at
once, at the end.
"""

from typing import NamedTuple


class Step(NamedTuple):
    """Something that happened in a session, as a host tells of it."""

    what: str  # said, run or edited
    text: str  # what the agent said, the command, the file
    error: str = ""  # a run failed with it
    old: str = ""  # of an edit
    new: str = ""


class Ask(NamedTuple):
    """An error that comes later, and what the answer has to hold and must not hold."""

    error: str
    holds: tuple[str, ...] = ()  # empty: no answer at all
    lacks: tuple[str, ...] = ()
    elsewhere: bool = False  # in another project of the user's


class Session(NamedTuple):
    """A session, and questions afterwards."""

    name: str
    steps: tuple[Step, ...]
    asks: tuple[Ask, ...]


def said(text: str) -> Step:
    """What the agent said."""
    return Step("said", text)


def ran(command: str, error: str = "") -> Step:
    """A command."""
    return Step("run", command, error)


def edited(path: str, old: str, new: str) -> Step:
    """A change of a file."""
    return Step("edited", path, old=old, new=new)


_TAKEN = (
    'docker: Error response from daemon: Conflict. The container name "{0}" is already in use by '
    'container "4f1c9d0e77aa". You have to remove (or rename) that container.'
)
_LISTEN = "OSError: [Errno 98] Address already in use: ('127.0.0.1', {0})"

TUNED = (
    Session(
        "container name",
        (
            ran("docker run --name db postgres", _TAKEN.format("/db")),
            said("An old container of that name is left over from the last run."),
            ran("docker rm -f db"),
            ran("docker run --name db postgres"),
        ),
        (
            Ask(_TAKEN.format("/db"), ("left over from the last run", "went away after"), ()),
            Ask(_TAKEN.format("/web-prod"), (), ()),
        ),
    ),
    Session(
        "port in use",
        (
            ran("python serve.py", _LISTEN.format(8080)),
            ran("ss -ltnp"),
            said("The port is still held by an old server process."),
            ran("kill -9 4242"),
            ran("python serve.py"),
        ),
        (Ask(_LISTEN.format(8080), ("held by an old server process",), ("4242", "ss -ltnp")),),
    ),
    Session(
        "changed a file",
        (
            ran("python report.py", "KeyError: 'total'"),
            said("The export renamed the column total to sum, so the lookup fails."),
            edited("report.py", "row['total']", "row['sum']"),
            ran("python report.py"),
        ),
        (Ask("KeyError: 'total'", ("renamed the column", "row['sum']"), ("changing report.py.",)),),
    ),
    Session(
        "library",
        (
            ran("make", "/usr/bin/ld: cannot find -lz\ncollect2: error: ld returned 1 exit status"),
            ran("sudo apt-get install -y zlib1g-dev"),
            ran("make"),
        ),
        (
            Ask("/usr/lib/gcc/x/12/bin/ld: cannot find -lz", ("zlib1g-dev",)),
            Ask("ld: cannot find -lz: No such file or directory", ("zlib1g-dev",)),
            Ask("/usr/bin/ld: cannot find -lssl", ()),
            Ask("/usr/bin/ld: cannot find -lz", ("zlib1g-dev",), elsewhere=True),
        ),
    ),
    Session(
        "assertion",
        (
            ran(
                "pytest -q", "E   assert 3 == 4\nFAILED tests/test_a.py::test_total - assert 3 == 4"
            ),
            edited("src/a.py", "return 3", "return 4"),
            ran("pytest -q"),
        ),
        (Ask("E   assert 3 == 4\nFAILED tests/test_a.py::test_total - assert 3 == 4", ()),),
    ),
)

HELD_OUT = (
    Session(
        "push refused",
        (
            ran(
                "git push",
                "To github.com:ann/shop.git\n ! [rejected] main -> main (fetch first)\n"
                "error: failed to push some refs to 'github.com:ann/shop.git'",
            ),
            ran("git remote -v"),
            ran("git pull --rebase"),
            ran("git push"),
        ),
        (
            Ask(
                "To gitlab.com:bob/blog.git\n ! [rejected] main -> main (fetch first)\n"
                "error: failed to push some refs to 'gitlab.com:bob/blog.git'",
                ("git pull --rebase",),
                ("git remote -v", "ann/shop"),
            ),
        ),
    ),
    Session(
        "ssh key",
        (
            ran(
                "git fetch origin",
                "git@github.com: Permission denied (publickey).\n"
                "fatal: Could not read from remote repository.",
            ),
            ran("systemctl status ssh-agent"),
            said("The agent has lost its key since the restart."),
            ran("ssh-add ~/.ssh/id_ed25519"),
            ran("git fetch origin --prune"),
        ),
        (
            Ask(
                "git@gitlab.com: Permission denied (publickey).",
                ("ssh-add", "lost its key"),
                ("systemctl",),
            ),
            Ask("ls: cannot open directory '/root': Permission denied", ()),
        ),
    ),
    Session(
        "service down, in German",
        (
            ran(
                "python manage.py migrate",
                'connection to server at "localhost", port 5432 failed: Connection refused',
            ),
            ran("lsof -i :5432"),
            said("Die Ursache: der Datenbankdienst war nach dem Neustart nicht gestartet."),
            ran("sudo systemctl start postgresql"),
            ran("python manage.py migrate --noinput"),
        ),
        (
            Ask(
                'connection to server at "127.0.0.1", port 5432 failed: Connection refused',
                ("Datenbankdienst", "systemctl start postgresql"),
                ("lsof",),
            ),
        ),
    ),
    Session(
        "forced push",
        (
            ran(
                "git push origin topic",
                "! [rejected] topic -> topic (non-fast-forward)\n"
                "error: failed to push some refs to 'origin'",
            ),
            said("The branch was rebased, so the remote one has other commits."),
            ran("git push --force origin topic"),
            ran("git push origin topic"),
        ),
        (
            Ask(
                "! [rejected] topic -> topic (non-fast-forward)\n"
                "error: failed to push some refs to 'origin'",
                ("was rebased",),
                ("Run `git push --force",),
            ),
        ),
    ),
    Session(
        "lock file",
        (
            ran(
                "git commit -m x",
                "fatal: Unable to create '/home/ann/shop/.git/index.lock': File exists.",
            ),
            ran("ps aux"),
            said("A crashed git process left its lock behind."),
            ran("rm -f /home/ann/shop/.git/index.lock"),
            ran("git commit -m x"),
        ),
        (
            Ask(
                "fatal: Unable to create '/srv/blog/.git/index.lock': File exists.",
                ("left its lock behind",),
                ("/home/ann/shop", "ps aux"),
            ),
            Ask(
                "fatal: Unable to create '/srv/blog/.git/index.lock': File exists.",
                ("left its lock behind",),
                ("/home/ann/shop",),
                elsewhere=True,
            ),
        ),
    ),
    Session(
        "a setting, in Spanish",
        (
            ran("npm run build", "Error: error:0308010C:digital envelope routines::unsupported"),
            said("El problema es que Webpack 4 usa un hash que OpenSSL 3 ya no permite."),
            edited(
                "package.json",
                '"build": "webpack"',
                '"build": "NODE_OPTIONS=--openssl-legacy-provider webpack"',
            ),
            ran("npm run build"),
        ),
        (
            Ask(
                "Error: error:0308010C:digital envelope routines::unsupported",
                ("OpenSSL 3", "--openssl-legacy-provider"),
            ),
        ),
    ),
    Session(
        "a project's own file",
        (
            ran("python -m shop.report", "KeyError: 'net_amount'"),
            said("The importer writes net, not net_amount."),
            edited("shop/report.py", "row['net_amount']", "row['net']"),
            ran("python -m shop.report"),
        ),
        (
            Ask("KeyError: 'net_amount'", ("writes net",)),
            Ask("KeyError: 'net_amount'", (), elsewhere=True),
        ),
    ),
    Session(
        "a package",
        (
            ran("python convert.py", "ModuleNotFoundError: No module named 'tomlkit'"),
            ran("pip install tomlkit"),
            ran("python convert.py --dry-run"),
        ),
        (
            Ask(
                "ModuleNotFoundError: No module named 'tomlkit'", ("pip install tomlkit",), (), True
            ),
            Ask("ModuleNotFoundError: No module named 'tomli'", (), (), True),
        ),
    ),
    Session(
        "another object",
        (
            ran(
                "docker network create shop-net",
                "Error response from daemon: network with name shop-net already exists",
            ),
            ran("docker network rm shop-net"),
            ran("docker network create shop-net"),
        ),
        (
            Ask(
                "Error response from daemon: network with name blog-net already exists",
                (),
                ("shop-net",),
            ),
        ),
    ),
    Session(
        "a test that fails",
        (
            ran(
                "go test ./...", "--- FAIL: TestSum (0.00s)\n    sum_test.go:9: got 3, want 4\nFAIL"
            ),
            edited("sum.go", "a - b", "a + b"),
            ran("go test ./..."),
        ),
        (Ask("--- FAIL: TestSum (0.00s)\n    sum_test.go:9: got 3, want 4\nFAIL", ()),),
    ),
    Session(
        "a fixture",
        (
            ran(
                "pytest -q",
                "ERROR tests/test_orders.py::test_order\nE       fixture 'db' not found\n"
                ">       available fixtures: cache, capfd",
            ),
            said("The fixture db moved to tests/fixtures.py, which conftest does not import."),
            edited("tests/conftest.py", "", "from tests.fixtures import db"),
            ran("pytest -q tests/test_orders.py"),
            ran("pytest -q"),
        ),
        (
            Ask(
                "E       fixture 'db' not found",
                ("from tests.fixtures import db",),
                ("ERROR tests",),
            ),
        ),
    ),
)
