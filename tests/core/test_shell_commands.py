"""Commands as a shell would run them, and whether one is what a pattern names."""

import time

import pytest

from reverie.core.shell_commands import list_commands, matches_command


def meets(pattern: str, text: str, branch: str | None = None) -> bool:
    """Whether a pattern meets one of the commands of a text."""
    return any(matches_command(pattern, command, branch) for command in list_commands(text))


@pytest.mark.parametrize(
    "text",
    [
        "git push --force",
        "git push -f origin topic",
        "git push origin main --force",
        "cd x && git push --force",
        "git fetch; git push -uf",
        'bash -c "cd a; git push -f"',
        "bash -lc 'git push --force'",
        "FOO=1 sudo -u bob env A=b git -C /x -c a=b push origin +main",
        "/usr/bin/git push -f",
        "bash <<EOF\ngit push --force\nEOF",
        "timeout 20 git push --force; true",
        "docker exec app sh -c 'git push -f'",
        "for r in a b; do git push -f $r; done",
        "if true; then (git push -f); fi",
        "git \"push\" '--force'",
        'echo "$(git push --force)"',
        "git push \\\n  --force",
        "ssh host git push -f",
        "eval 'git push -f'",
        "ls | xargs -n 1 git push -f",
        "bash --norc -c 'git push -f'",
        "bash -euo pipefail -c 'git push -f'",
        "su - bob -c 'git push -f'",
        "pwsh -ExecutionPolicy Bypass -Command 'git push -f'",
        "sudo -n git push -f",
        "sudo -S -k git push -f",
        "command -p git push -f",
        "stdbuf -o L git push -f",
        "exec -a x git push -f",
        "flock /tmp/lock git push -f",
        "git --attr-source HEAD push -f",
        "git push -4f",
        "git push --mirror",
        "echo 'git push -f' | bash",
        "bash <<< 'git push -f'",
        "function f { git push -f; }; f",
        "trap 'git push -f' EXIT",
        "find . -exec ls {} \\; -execdir git push -f \\;",
        "docker compose exec -u app web git push -f",
        "kubectl -n prod exec pod -c app -- git push -f",
    ],
)
def test_a_force_push_is_seen_however_it_is_typed(text: str) -> None:
    """Compound, wrapped, quoted, with other flags and in another order."""
    assert meets("git push --force", text)


@pytest.mark.parametrize(
    "text",
    [
        "git push",
        "git push --force-with-lease",
        "git commit -m 'git push --force'",
        "echo 'git push --force'",
        "cat > x <<'EOF'\ngit push --force\nEOF\necho hi",
        "ls # git push --force",
        "git fetch --force && git push",
        "grep -rn 'push --force' docs",
        "./git-push-wrapper --force",
        "echo 'git push --force' | grep push",
        "grep x <<< 'git push --force'",
        "bash push.sh -c 'git push --force'",
        "docker exec app echo git push --force",
    ],
)
def test_what_only_looks_like_one_is_none(text: str) -> None:
    """Other verbs, texts that name it, files that are written."""
    assert not meets("git push --force", text)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("rm -r -f", "rm -fr /x", True),
        ("rm -r -f", "rm --recursive --force x", True),
        ("rm -r -f", "find . -name x -exec rm -rf {} \\;", True),
        ("rm -r -f", "rm file.txt", False),
        ("rm -rf", "rm -f -r x", True),
        ("rm -rf", "rm -r x", False),
        ("sudo", "cd /etc && sudo vi hosts", True),
        ("sudo", "echo sudo", False),
        ("kubectl delete namespace", "kubectl -n prod delete namespace x", True),
        ("pip install", "python3 -m pip install x", True),
        ("pip install", "uv run pip install x", True),
        ("npm install", "npm i left-pad", True),
        ("docker compose down --volumes", "docker compose -f a.yml down -v", True),
        ("docker compose down --volumes", "docker compose down", False),
        ("git push * main", "git push origin main", True),
        ("git push --force !--force-with-lease", "git push --force --force-with-lease", False),
        ("git push", "git commit -m push", False),
        ("git branch --delete", "git branch -D old", True),
        ("terraform apply", "terraform -chdir=infra apply -auto-approve", True),
    ],
)
def test_a_pattern_names_words_and_flags(pattern: str, text: str, expected: bool) -> None:
    """Words in order, flags anywhere and in any spelling."""
    assert meets(pattern, text) is expected


@pytest.mark.parametrize(
    ("text", "branch", "expected"),
    [
        ("git push", "main", True),
        ("git push", "topic", False),
        ("git push", None, True),
        ("git push origin topic", "main", False),
        ("git push origin HEAD:main", "topic", True),
        ("git push -u origin HEAD", "main", True),
        ("git checkout main && git push", "topic", True),
        ("git push --all", "topic", True),
        ("git push --mirror backup", "topic", True),
        ("git checkout -b topic && git push -u origin topic", "main", False),
    ],
)
def test_a_pattern_may_name_the_branch(text: str, branch: str | None, expected: bool) -> None:
    """What is pushed to, or is checked out, is looked at; where nobody knows, it counts."""
    assert meets("git push @main", text, branch) is expected


@pytest.mark.parametrize(
    "piece",
    [
        "(",
        "$(",
        "'",
        '"',
        "<<a\n",
        "`",
        "\\",
        "a=b ",
        "sudo ",
        "eval ",
        "bash -c ",
        "${",
        "su ",
        "sh -x ",
        "echo a|",
        "docker exec ",
        "find -exec ",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    """Twice as much of anything takes about twice as long."""

    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        # The processor's time: what else the machine does is not counted.
        start = time.thread_time()
        list_commands(text)
        return time.thread_time() - start

    small = min(seconds(10_000) for _ in range(3))
    assert min(seconds(20_000) for _ in range(3)) < 3.5 * small + 0.02
