"""Settings: the environment over config.toml over the defaults."""

import re
import tomllib

import pytest

import reverie
from reverie.core import config
from reverie.core.config import (
    Settings,
    default_home,
    hide_password,
    load_settings,
    project_space_of,
    resolve_store_url,
    save_settings,
    to_slug,
)
from reverie.core.errors import BadInput


def test_defaults_stand_without_a_file(tmp_path):
    """A home that is not there is no error and is not made."""
    settings = load_settings(tmp_path / "none")

    assert settings == Settings(home=tmp_path / "none", models=str(default_home() / "cache"))
    assert settings.url == f"sqlite:///{tmp_path / 'none' / 'reverie.db'}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.proves("A114")
def test_the_environment_wins(tmp_path, monkeypatch):
    """REVERIE_OFF, _OFFLINE, _EMBEDDER, _API_KEY and _HOME."""
    (tmp_path / "config.toml").write_text(
        'limit = 9\nembedder = "toy"\nbudget = 100\ndeadline = 1\n'
    )
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path))
    monkeypatch.setenv("REVERIE_EMBEDDER", "none")
    monkeypatch.setenv("REVERIE_OFF", "1")
    monkeypatch.setenv("REVERIE_OFFLINE", "0")
    settings = load_settings()

    assert (settings.home, settings.limit, settings.embedder, settings.enabled) == (
        tmp_path,
        9,
        "none",
        False,
    )
    assert (settings.offline, settings.deadline, settings.budget) == (False, 1.0, 100)


@pytest.mark.proves("A114")
def test_a_user_without_a_home_folder_names_one(tmp_path, monkeypatch):
    """As in containers: there is no usual home then, and one that is named is enough."""
    monkeypatch.delenv("REVERIE_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", str)
    with pytest.raises(OSError, match="Set REVERIE_HOME"):
        load_settings()
    assert load_settings(tmp_path / "named") == Settings(home=tmp_path / "named")


@pytest.mark.parametrize(
    "text",
    [
        "limit = 'five'",
        "colour = 1",
        "limit = ",
        "home = '/x'",
        "limit = true",
        "off = [1]",
        "deadline = '1'",
        "\x00",
    ],
)
def test_a_bad_file_names_itself(tmp_path, text):
    """The error for a bad config.toml has its path and the known settings."""
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(BadInput, match=r"config\.toml"):
        load_settings(tmp_path)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("idle = 'soon'", "idle must be a number, not 'soon'. The default: idle = 60.0"),
        ("notices = 'no'", "notices must be true or false, not 'no'"),
        ("embedder = 5", "embedder must be a text in quotes, not 5"),
        ("off = 'me'", "off must be a list of texts in quotes, not 'me'. The default: off = []"),
        ("limit = 1.5", "limit must be a whole number, not 1.5"),
    ],
)
def test_a_value_of_the_wrong_type_is_told_what_to_be(tmp_path, line, told):
    """In a person's words, with the line that would do."""
    (tmp_path / "config.toml").write_text(line)
    with pytest.raises(BadInput, match=re.escape(told)):
        load_settings(tmp_path)


def test_saving_keeps_every_other_line(tmp_path):
    """Comments and order stay; every type of value comes back as it was."""
    path = tmp_path / "config.toml"
    path.write_text("# mine\nlimit = 3  # few\n\nembedder = 'toy'\n")
    odd = 'a"b\\c\nd\te\x7f é'
    save_settings(
        load_settings(tmp_path),
        off=("me/a", odd),
        enabled=False,
        embedder=odd,
        limit=7,
        deadline=0.5,
    )
    settings = load_settings(tmp_path)

    assert path.read_text().startswith("# mine\nlimit = 7\n")
    assert (settings.off, settings.enabled, settings.embedder) == (("me/a", odd), False, odd)
    assert (settings.limit, settings.deadline) == (7, 0.5)
    assert [p.name for p in tmp_path.iterdir()] == ["config.toml"]


def test_a_setting_over_several_lines_is_not_rewritten(tmp_path):
    """An array over several lines is for its owner to change; nothing is lost."""
    path = tmp_path / "config.toml"
    text = 'off = [\n  "me/a",\n]\n'
    path.write_text(text)
    with pytest.raises(BadInput, match="by hand"):
        save_settings(load_settings(tmp_path), off=("me/b",))
    with pytest.raises(BadInput):
        save_settings(load_settings(tmp_path), colour="red")

    assert path.read_text() == text
    assert [p.name for p in tmp_path.iterdir()] == ["config.toml"]


@pytest.mark.proves("A114")
def test_a_space_is_switched_off_with_all_below():
    """A space and what lies in it, not its namesake."""
    settings = Settings(home=config.working_directory(), off=("me/a",))

    assert [settings.is_off(space) for space in ("me/a", "me/a/s", "me/ab", "me")] == [
        True,
        True,
        False,
        False,
    ]
    assert Settings(home=config.working_directory(), enabled=False).is_off("you")


@pytest.mark.proves("A23", "CC-11", "D57")
def test_a_project_is_its_repository(tmp_path):
    """Any folder of it, and its work trees; two of the same name are two."""
    main, other = tmp_path / "one" / "app", tmp_path / "two" / "app"
    for root in (main, other):
        (root / ".git" / "worktrees" / "wt").mkdir(parents=True)
        (root / "src" / "deep").mkdir(parents=True)
    tree, module = tmp_path / "wt", main / "lib"
    tree.mkdir()
    module.mkdir()
    (tree / ".git").write_text(f"gitdir: {main}/.git/worktrees/wt\n")
    (module / ".git").write_text("gitdir: ../.git/modules/lib\n")

    assert (
        project_space_of(main / "src" / "deep") == project_space_of(main) == project_space_of(tree)
    )
    assert (
        len(
            {
                project_space_of(main),
                project_space_of(other),
                project_space_of(module),
                project_space_of(tmp_path),
            }
        )
        == 4
    )
    assert project_space_of(main).startswith("me/app-")


def test_any_folder_has_a_space(tmp_path):
    """Odd names become names that can stand in a path."""
    from reverie.memory.memory_validation import validate_space

    for name in ("a b", "ünï 日本", "...", "x" * 200, "-", "a\nb"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True) if name != "..." else folder.mkdir()
        assert validate_space(project_space_of(folder)) == project_space_of(folder)
    assert to_slug(" My App! ") == "my-app"


@pytest.mark.parametrize(
    "url, shown",
    [
        ("postgresql://ann:hunter2@h/x", "postgresql://ann@h/x"),
        ("postgresql://h/x?password=hunter2&tenant=a", "postgresql://h/x?tenant=a"),
        ("postgresql://h/x?user=ann&password=hunter2", "postgresql://h/x?user=ann"),
        ("postgresql://h/x", "postgresql://h/x"),
        ("sqlite:////home/a:b@c/x.db", "sqlite:////home/a:b@c/x.db"),
        ("sqlite://:memory:", "sqlite://:memory:"),
    ],
)
def test_a_password_is_left_out_of_an_address(url, shown):
    """What names a store in messages and files is its address without the password."""
    assert hide_password(url) == shown


def test_the_address_of_a_store_follows_from_its_name(tmp_path, monkeypatch):
    """A folder is a home; a .db file, :memory: and URLs are themselves."""
    monkeypatch.chdir(tmp_path)
    settings = Settings(home=tmp_path)

    assert (
        resolve_store_url(None, settings)
        == resolve_store_url(tmp_path, settings)
        == f"sqlite:///{tmp_path}/reverie.db"
    )
    assert resolve_store_url(":memory:", settings) == "sqlite://:memory:"
    assert resolve_store_url("x.db", settings) == f"sqlite:///{tmp_path}/x.db"
    assert resolve_store_url("sqlite:///y.db", settings) == "sqlite:///y.db"
    server = "postgresql://ann:hunter2@db.example:5432/team?tenant=acme&sslmode=require"
    assert resolve_store_url(server, settings) == server
    assert resolve_store_url("postgresql:///team", settings) == "postgresql:///team"
    configured = settings._replace(store=server)
    assert resolve_store_url(None, configured) == server
    assert configured.url == server.replace(":hunter2", "")
    assert config.home_of_address(tmp_path) == tmp_path
    assert (
        config.home_of_address(":memory:")
        is config.home_of_address(None)
        is config.home_of_address(tmp_path / "x.db")
        is None
    )


@pytest.mark.parametrize(
    ("line", "variable", "model"),
    [
        ("", "", "all-MiniLM-L6-v2/1"),
        ('embedder = "toy"', "", "toy/1"),
        (
            'embedder = "openai:http://localhost:1/v1#text-embedding-3-small"',
            "",
            "text-embedding-3-small@localhost:1",
        ),
        (
            'embedder = "openai:http://localhost:1/v1#text-embedding-3-small"',
            "minilm:int8",
            "all-MiniLM-L6-v2-int8/1",
        ),
        ('embedder = "openai"', "", "text-embedding-3-small@api.openai.com"),
        ("", "gemini", "gemini-embedding-001@generativelanguage.googleapis.com"),
        (
            'embedder = "openai:text-embedding-3-large@256"',
            "",
            "text-embedding-3-large@api.openai.com",
        ),
    ],
)
@pytest.mark.proves("C69")
def test_the_provider_follows_from_the_configuration(tmp_path, monkeypatch, line, variable, model):
    """Nobody names a class: file and variable say whose vectors it will be, the local model's by
    default.
    """
    (tmp_path / "config.toml").write_text(f"idle = 0\n{line}\n")
    if variable:
        monkeypatch.setenv("REVERIE_EMBEDDER", variable)
    with reverie.open(tmp_path) as mind:
        assert mind.embedder is not None and mind.embedder.model == model


@pytest.mark.parametrize(
    ("embedder", "key"),
    [
        ("openai", "of-openai"),
        ("openai:text-embedding-3-large@256", "of-openai"),
        ("gemini", "of-google"),
        ("openai:https://elsewhere.example/v1#text-embedding-3-small", ""),
        ("gemini:https://elsewhere.example/v1#gemini-embedding-001", ""),
        ("minilm", ""),
    ],
)
@pytest.mark.proves("C69")
def test_an_embedder_has_its_providers_key(tmp_path, monkeypatch, embedder, key):
    """From the provider's usual variable, and never for another address; our own goes before."""
    monkeypatch.setenv("OPENAI_API_KEY", "of-openai")
    monkeypatch.setenv("GOOGLE_API_KEY", "of-google")
    monkeypatch.setenv("REVERIE_EMBEDDER", embedder)
    assert load_settings(tmp_path).api_key == key
    monkeypatch.setenv("REVERIE_API_KEY", "ours")
    assert load_settings(tmp_path).api_key == "ours"


@pytest.mark.parametrize(
    "text",
    [
        "",
        'embedder = "toy"\nidle = 5.0\nlimit = 3\n\n# a comment\noffline = true\n',
        'a = ["x", "y"]\r\nb = "ä"\n',
        "a = 1_000",
        "a = 'C:\\x'",
        'a = "C:\\\\x"',
        'a = "\\/"',
        "a = 1 # why",
        "[table]\nb = 1",
        "a = NaN",
        "a = null",
        "a = {}",
        "a = 01",
        "a = 1\na = 2",
        'a = [\n"x",\n]',
        '"a b" = 1',
        "a = inf",
        "a =",
        "a",
        "\x00 = 1",
        'a = "\x7f"',
    ],
)
def test_plain_lines_are_read_as_toml_reads_them(text):
    """What is not plain is left to TOML."""
    plain = config.parse_plain_lines(text)
    assert plain is None or plain == tomllib.loads(text)


def test_what_is_saved_is_plain(tmp_path):
    """So a hook need not load a TOML parser."""
    save_settings(Settings(home=tmp_path), embedder="toy", idle=5.0, sensitive=("*.pem", "x"))
    text = (tmp_path / "config.toml").read_text()
    assert config.parse_plain_lines(text) == tomllib.loads(text)
