"""Settings, and all that is read of the environment, working directory and home.

Nothing else reads these, `environment` apart. An interface builds one frozen `Settings` and hands
it down. Values come, in this order, from the environment (`REVERIE_HOME`, `REVERIE_SANDBOX`,
`REVERIE_OFF`, `REVERIE_OFFLINE`, `REVERIE_EMBEDDER`, `REVERIE_API_KEY`, `REVERIE_LLM`,
`REVERIE_LLM_KEY`, `REVERIE_MCP_TOKEN`, `REVERIE_SERVER_KEY`; for a team's server
`REVERIE_SERVER_DATABASE`,
`REVERIE_SERVER_URL`, `REVERIE_OIDC_ISSUER`, `REVERIE_OIDC_CLIENT_ID`,
`REVERIE_OIDC_CLIENT_SECRET`), then `config.toml` in the home, then the defaults here.
Every setting has a sentence in docs/reference/settings.md; a test fails without it.

In a sandbox every address, however it is given, is exchanged for one inside it, so that nothing
tried out there sees or alters what is really remembered; it has settings of its own
(`docs/how-to/command-line.md`).
"""

import math
import os
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

from reverie.core import environment
from reverie.core.atomic_file import make_private_folder, replace_file, write_beside
from reverie.core.errors import BadInput, Disabled
from reverie.core.privacy_policy import CHOICES, Choice, Policy

ME = "me"  # the user's own space, seen from every project
ENVIRONMENT_VARIABLES = (
    ("embedder", "REVERIE_EMBEDDER"),
    ("api_key", "REVERIE_API_KEY"),
    ("llm", "REVERIE_LLM"),
    ("llm_key", "REVERIE_LLM_KEY"),
    ("mcp_token", "REVERIE_MCP_TOKEN"),
    ("server_database", "REVERIE_SERVER_DATABASE"),
    ("server_url", "REVERIE_SERVER_URL"),
    ("oidc_issuer", "REVERIE_OIDC_ISSUER"),
    ("oidc_client_id", "REVERIE_OIDC_CLIENT_ID"),
    ("oidc_client_secret", "REVERIE_OIDC_CLIENT_SECRET"),
    ("server_key", "REVERIE_SERVER_KEY"),
)
# Least and most of some numbers; the others are 0 or more. Beyond four hops of 0.7 each, less than
# a quarter of a score is left.
NUMBER_BOUNDS = {
    "depth": (0, 4),
    "decay": (0.01, 1.0),
    "llm_votes": (1, 9),
    "condense_at": (0.1, 1.0),
    "holdout": (0, 0.5),
}
# How a value begins that TOML and JSON write alike.
PLAIN_STARTS = frozenset('"[-0123456789tf')
PRIVACY_SETTINGS = ("personal", "contact", "intimate")
ALLOWED_VALUES = {
    "curate": ("off", "inferred", "model"),
    "duplicates": ("keep", "refuse"),
    "guards": ("ask", "deny", "tell", "off"),
    "locked_guards": ("sealed", "open"),
}
# A provider's own variables, best first.
PROVIDER_KEY_VARIABLES = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
# Where the user's git configuration and git's programs are; the rest says where git is at work.
KEPT_GIT_VARIABLES = frozenset(
    ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")
)


class Settings(NamedTuple):
    """Everything that can be chosen. The comment above or beside a field is its documentation."""

    home: Path  # folder of the database, cache, backups and config.toml
    store: str = ""  # store URL; empty: sqlite in the home
    enabled: bool = True  # False: nothing is remembered and nothing surfaces
    off: tuple[str, ...] = ()  # spaces in which memory is switched off, with all below them
    # conversations in which memory is switched off, by their names
    off_sessions: tuple[str, ...] = ()
    # cards, IBANs, national, tax and passport numbers: off (kept), mask, or refuse
    personal: str = "mask"
    contact: str = "off"  # e-mail and postal addresses, phone numbers: off (kept), mask, or refuse
    intimate: str = "off"  # birth dates and health: off (kept), mask, or refuse
    # what holds in a space and all below it instead, such as "me/shop contact=refuse";
    # `reverie data privacy` writes it
    space_privacy: tuple[str, ...] = ()
    # files never looked into, as in .gitignore, beside .env, keys and the like
    sensitive: tuple[str, ...] = ()
    # minilm, minilm:int8, onnx:<folder or model>, toy, none; openai or gemini, openai:<model>,
    # openai:<base url>#<model>
    embedder: str = "minilm"
    # for a remote embedder; empty: the provider's usual variable, for its usual address only
    api_key: str = ""
    # folder of the model's files; empty: `cache` in the home, or in the usual home
    models: str = ""
    # ONNX Runtime execution providers for minilm, best first; empty: the processor
    providers: tuple[str, ...] = ()
    offline: bool = False  # never open a connection, not even to fetch the model
    # anthropic:<model>, openai:<model> or openai:<base url>#<model>; claude-cli:<model> or
    # codex-cli:<model> for a command line that you have; empty: none
    llm: str = ""
    llm_key: str = ""  # its key; empty: the provider's usual variable, for its usual address only
    llm_tokens_per_day: int = 1_000_000  # tokens in and out that a day (UTC) may take; 0: no limit
    # dollars that a day may cost, where the price is known; 0: no limit
    llm_dollars_per_day: float = 1.0
    # dollars a million tokens in; both prices 0: those the client's list knows
    llm_price_in: float = 0.0
    llm_price_out: float = 0.0  # dollars a million tokens out
    llm_votes: int = 1  # ballots of the judge, all of which must name a memory; 2 is more precise
    llm_judge_seconds: float = 5.0  # seconds that the judge may take; give a local model more
    # whether nights of the detached worker may ask the model within its budget
    llm_sleep: bool = True
    limit: int = 5  # memories in one injected block, at most
    budget: int = 600  # tokens in one injected block, at most
    depth: int = 2  # links, tags or clusters that recall follows from what it found; 0: none
    # cosine that a memory needs where recall goes by vectors alone; 0: any will do
    floor: float = 0.4
    decay: float = 0.7  # share of a score that each of these steps keeps, above 0 and at most 1
    # seconds that the search by words and triggers may take at a first turn, or in a hook at a
    # prompt; starting the hook, opening the store and writing the block are not counted
    deadline: float = 0.03
    # what waits for `reverie memory curate`: off, inferred (concluded), model (wrote it)
    curate: str = "inferred"
    # what a prohibition does when a tool is about to do what it forbids: ask (the person decides),
    # deny, tell (the agent, once), off; `reverie guards` chooses for one of them
    guards: str = "ask"
    # what an encrypted home has in the clear of guards, for the time in which it is locked: sealed
    # (how many there are; you are asked once in a session) or open (their triggers; they stop)
    locked_guards: str = "sealed"
    # whether a line in the host's terminal tells you what memory gave, learned or held back
    notices: bool = True
    # what nearly says what is known, where somebody keeps it once more: keep (and say so), refuse
    duplicates: str = "keep"
    # days for which what was said in past conversations is searched; 0: always
    talk_days: float = 0.0
    condense_at: float = 0.8  # share of the model's context from which a conversation is condensed
    # whether hooks bring the likely files of a task by themselves; for that a worker takes in the
    # code and the history of a repository that an agent works in
    auto_plan: bool = True
    # share of conversations, 0.5 at most, in which memory says nothing by itself, warnings and
    # reminders apart, so that `reverie proof` can tell what it is worth
    holdout: float = 0.0
    idle: float = 60.0  # seconds without work after which a detached worker exits
    # what sleep tidies by itself: off, safe, all, or names of passes with commas
    sleep: str = "safe"
    sleep_every: float = 6.0  # hours between two nights that begin by themselves, at least
    sleep_idle: float = 15.0  # minutes without a turn before sleep begins by itself
    zone: str = ""  # time zone of reminders, such as Europe/Berlin; empty: the machine's
    backups: int = 3  # daily copies of the database that are kept; 0: none
    # bearer token that `reverie mcp --http` asks for; empty: the one in the file mcp-token of the
    # home, which is made when it is first needed
    mcp_token: str = ""
    # address of the database that `reverie server` serves from: postgresql://user@host/database
    server_database: str = ""
    # megabytes in which the server keeps what its searches read, for all tenants together: vectors
    # and figures, no texts; 0: none, and every search is the database's
    server_columns: int = 256
    # how clients name the server, such as https://memory.example.com; empty: where it listens
    server_url: str = ""
    # address of the OpenID provider at which people of a team sign in to the server; empty: none
    oidc_issuer: str = ""
    oidc_client_id: str = ""  # what the server is called at that provider
    oidc_client_secret: str = ""  # its secret there; empty for a public client
    oidc_tenant: str = "default"  # the tenant whose people sign in there
    oidc_join: bool = False  # whoever that provider vouches for becomes a user of the tenant
    # whose verified e-mail addresses may sign in there, such as example.com; none: everybody's
    oidc_domains: tuple[str, ...] = ()
    # key to the team's server; empty: the one in the file server-key of the home, which
    # `reverie login` writes
    server_key: str = ""
    # seconds after which the worker asks the team's server what is new
    sync_every: float = 30.0
    # folder of the Markdown mirror, within the home unless absolute; off: none
    mirror: str = "spaces"
    # where the worker sends OpenTelemetry spans (OTLP over HTTP): an address such as
    # http://localhost:4318; on: where OTEL_EXPORTER_OTLP_ENDPOINT says, or there; off: nowhere;
    # empty: where OTEL_EXPORTER_OTLP_ENDPOINT says, nowhere without it
    otel: str = ""
    # headers that go with them, as name=value with commas, such as a key; empty: those of
    # OTEL_EXPORTER_OTLP_HEADERS
    otel_headers: str = ""
    # whether spans hold what was asked and found, without secrets; so does
    # OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT
    otel_content: bool = False

    @property
    def url(self) -> str:
        """The URL of the store, by which it is known and shown: without a password."""
        return hide_password(self.store) or f"sqlite:///{self.home / 'reverie.db'}"

    @property
    def cache(self) -> Path:
        """The folder of model files and other things that can be made again."""
        return Path(self.models) if self.models else self.home / "cache"

    @property
    def mirror_root(self) -> Path | None:
        """The folder of the Markdown mirror; None where it is switched off."""
        return None if self.mirror in ("", "off") else self.home / Path(self.mirror).expanduser()

    @property
    def policy(self) -> Policy:
        """What is taken out of a text before it is kept. BadInput for an unknown choice."""
        return Policy(
            check_privacy_choice("personal", self.personal),
            check_privacy_choice("contact", self.contact),
            self.sensitive,
            intimate=check_privacy_choice("intimate", self.intimate),
            spaces=tuple(map(check_space_privacy, self.space_privacy)),
        )

    def is_off(self, space: str, session: str = "") -> bool:
        """True if memory is off in this space, in one above it, or in this conversation."""
        return (
            not self.enabled
            or any(space == off or space.startswith(off + "/") for off in self.off)
            or (bool(session) and session in self.off_sessions)
        )

    def is_held_out(self, session: str) -> bool:
        """True if memory says nothing by itself in this conversation, to compare it with others.

        Drawn by the conversation's name, so that every process says the same, and so that one that
        is resumed stays what it was.
        """
        if not self.holdout or not session:
            return False
        from hashlib import sha256  # no hook loads it unless something is held out

        drawn = sha256(session.encode("utf-8", "surrogatepass")).digest()[:4]
        return int.from_bytes(drawn) < self.holdout * 2**32

    def check_on(self, space: str, session: str = "") -> None:
        """Raise Disabled where memory is off in this space or conversation."""
        if self.is_off(space):
            raise Disabled(
                f"Memory is switched off in {space}. `reverie on` switches it on again; where only "
                f"one "
                "session is off, `reverie on --session`"
            )
        if self.is_off(space, session):
            raise Disabled(
                f"Memory is switched off in the session {session}. Switch it on again with: "
                f"reverie on --session {session}"
            )


def config_modified_at(settings: Settings) -> float:
    """When config.toml was written last; 0 where there is none."""
    try:
        return (Path(settings.home) / "config.toml").stat().st_mtime
    except OSError:
        return 0.0


def reload_switches(settings: Settings) -> Settings:
    """These settings with what is switched on and off in config.toml by now.

    Raises BadInput while the file cannot be read.
    """
    fresh = load_settings(settings.home)
    return settings._replace(
        enabled=fresh.enabled,
        off=fresh.off,
        off_sessions=fresh.off_sessions,
        auto_plan=fresh.auto_plan,
        holdout=fresh.holdout,
        guards=fresh.guards,
        locked_guards=fresh.locked_guards,
    )


def switch_session(
    settings: Settings,
    session: str,
    *,
    on: bool,
    kept: bool = True,
) -> Settings:
    """The settings with memory switched on or off in one conversation.

    With `kept`, that is written to config.toml.
    """
    before = load_settings(settings.home).off_sessions if kept else settings.off_sessions
    others = tuple(other for other in before if other != session)
    off_sessions = others if on else (*others, session)
    if not kept:
        return settings._replace(off_sessions=off_sessions)
    save_settings(settings, off_sessions=off_sessions)
    return reload_switches(settings)


def default_home() -> Path:
    """`REVERIE_HOME`, or `~/.reverie`; its sandbox while `REVERIE_SANDBOX` is set."""
    return Path(environment.current_home())


def sandbox_folder(home: Path, asked: bool = False) -> Path:
    """The folder to use for a home: itself, or its sandbox if that is asked for."""
    return Path(environment.sandbox_path(str(home), asked))


def user_home() -> Path:
    """The user's home folder."""
    return Path.home()


def host_folder(variable: str, name: str) -> Path:
    """The folder of a host agent's settings.

    The one its variable names, or `name` in the user's home.
    """
    return Path(os.environ.get(variable) or Path.home() / name).expanduser().absolute()


def program_folder(name: str) -> Path:
    """The folder in which a desktop program keeps its data on this system."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / name
    default = Path.home() / (".config" if sys.platform != "win32" else "AppData/Roaming")
    variable = "APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME"
    return Path(os.environ.get(variable) or default) / name


def load_settings(home: Path | None = None, *, sandbox: bool = False) -> Settings:
    """Settings of a home, or of its sandbox: the environment over config.toml over the defaults."""
    usual = home if home and not environment.has_home() else Path(environment.usual_home())
    home = sandbox_folder((home or usual).expanduser().absolute(), sandbox)
    # The 90 MB of the model are fetched once for a machine, not once for every home.
    has_models = home == usual or (home / "cache" / "models").is_dir()
    settings = Settings(home=home, models="" if has_models else str(usual / "cache"))
    path = home / "config.toml"
    if path.is_file():
        settings = settings._replace(**read_config_file(path))
    settings = settings._replace(**read_environment())
    return settings._replace(
        llm_key=settings.llm_key or find_provider_key(settings.llm),
        api_key=settings.api_key or find_provider_key(settings.embedder),
    )


def find_provider_key(setting: str) -> str:
    """The key in the variable of the provider that a setting names.

    "" for another address than the provider's, which must never get it.
    """
    provider, _, rest = setting.partition(":")
    variables = () if "#" in rest else PROVIDER_KEY_VARIABLES.get(provider, ())
    return next(filter(None, (os.environ.get(name, "") for name in variables)), "")


def read_config_file(path: Path) -> dict[str, Any]:
    """The values of config.toml, checked. BadInput names what is wrong."""
    try:
        text = path.read_text("utf-8-sig")
        values = parse_plain_lines(text)
        if values is None:
            import tomllib  # takes a hook 5 ms to load

            values = tomllib.loads(text)
    except (OSError, ValueError) as err:
        raise BadInput(f"{path} cannot be read: {err}") from err
    known = [name for name in Settings._fields if name != "home"]
    for name, value in values.items():
        if name not in known:
            raise BadInput(f"{path}: there is no setting {name!r}{suggest_setting(name, known)}")
        values[name] = check_setting(path, name, value)
    return values


# What a person calls the types of settings.
TYPE_NAMES = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text in quotes",
    tuple: "a list of texts in quotes",
}


def suggest_setting(name: str, known: list[str]) -> str:
    """What may have been meant, as the end of a sentence, or all there are."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, 3)
    return f". Did you mean {' or '.join(near)}?" if near else f"; there are {', '.join(known)}"


def parse_plain_lines(text: str) -> dict[str, Any] | None:
    """The values of a TOML file whose lines are as `save_settings` writes them, which JSON reads
    alike; None for any other.
    """
    import json

    values: dict[str, Any] = {}
    for line in filter(None, text.replace("\r\n", "\n").split("\n")):
        if not line.isprintable() or "\\" in line:
            return None
        if line.lstrip(" ").startswith("#"):
            continue
        name, _, written = (part.strip(" ") for part in line.partition("="))
        is_new_name = name.isascii() and name.isidentifier() and name not in values
        if not is_new_name or written[:1] not in PLAIN_STARTS:
            return None
        try:
            values[name] = json.loads(written)
        except ValueError:
            return None
    return values


def check_setting(
    path: Path,
    name: str,
    value: Any,
) -> Any:
    """A value of config.toml in the type of its setting; BadInput if it does not fit."""
    default = Settings._field_defaults[name]
    if isinstance(default, tuple) and isinstance(value, list):
        if all(isinstance(item, str) for item in value):
            value = tuple(value)
    elif isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not type(default):
        raise BadInput(
            f"{path}: {name} must be {TYPE_NAMES[type(default)]}, not {value!r}. The default: "
            f"{name} = {to_toml(default)}"
        )
    texts = value if isinstance(value, tuple) else (value,)
    if any("\0" in text for text in texts if isinstance(text, str)):
        raise BadInput(f"{path}: {name} holds a NUL character; write it without")
    if name in ALLOWED_VALUES and value not in ALLOWED_VALUES[name]:
        raise BadInput(
            f"{path}: {name} = {value!r} must be one of {', '.join(ALLOWED_VALUES[name])}"
        )
    if name in PRIVACY_SETTINGS:
        check_privacy_choice(f"{path}: {name}", value)
    if name == "otel" and value not in ("", "on", "off") and not is_http_address(value):
        raise BadInput(
            f"{path}: otel = {hide_password(value)!r} must be on, off, or an address such as "
            "http://localhost:4318"
        )
    if name == "space_privacy":
        for rule in value:
            check_space_privacy(rule)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high = NUMBER_BOUNDS.get(name, (0, math.inf))
        if not low <= value <= high:
            wanted = f"from {low} to {high}" if name in NUMBER_BOUNDS else "0 or more"
            raise BadInput(f"{path}: {name} = {value!r} must be {wanted}")
    return value


def is_http_address(url: str) -> bool:
    """True if a text begins like the address of a web server."""
    return re.match(r"https?://[^\s/]", url) is not None


def check_privacy_choice(name: str, value: str) -> Choice:
    """The value, if it is one of CHOICES; else BadInput."""
    if value in CHOICES:
        return value
    raise BadInput(f"{name} = {value!r} is not one of {', '.join(CHOICES)}")


def check_space_privacy(rule: str) -> str:
    """The rule, if it is a space with choices for it; else BadInput."""
    space, *choices = rule.split() or [""]
    for one in choices:
        name, _, value = one.partition("=")
        if name not in PRIVACY_SETTINGS:
            raise BadInput(f"{name!r} is not one of {', '.join(PRIVACY_SETTINGS)}")
        check_privacy_choice(name, value)
    if not choices or "=" in space:
        raise BadInput(f"{rule!r} is not like: me/shop contact=refuse")
    return f"{space} {' '.join(choices)}"


def read_environment() -> dict[str, Any]:
    """The settings that environment variables override."""
    found: dict[str, Any] = {}
    if not environment.is_switched_on():
        found["enabled"] = False
    if os.environ.get("REVERIE_OFFLINE", "") not in ("", "0"):
        found["offline"] = True
    for name, variable in ENVIRONMENT_VARIABLES:
        if value := os.environ.get(variable):
            found[name] = value
    return found


def save_settings(settings: Settings, **values: Any) -> None:
    """Change some lines of config.toml and leave every other line, comments too, as it stands."""
    path = settings.home / "config.toml"
    lines = path.read_text("utf-8-sig").splitlines() if path.is_file() else []
    for name, value in values.items():
        line = f"{name} = {to_toml(value)}"
        numbers = [n for n, old in enumerate(lines) if re.match(rf"\s*{name}\s*=", old)]
        if numbers:
            lines[numbers[0]] = line
        else:
            lines.append(line)
    make_private_folder(path.parent)
    with write_beside(
        path,
        ("\n".join(lines) + "\n").encode(),
    ) as half:
        try:
            # An array over several lines, say, cannot be changed line by line.
            read_config_file(Path(half))
        except BadInput as err:
            raise BadInput(
                f"{path} was left as it is, change {', '.join(values)} by hand: {err}"
            ) from err
        replace_file(half, path)


def to_toml(value: bool | float | str | tuple[str, ...]) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(to_toml, value))}]"
    if isinstance(value, (int, float)):
        return repr(value)
    escaped = "".join(f"\\u{ord(ch):04x}" if ch in '"\\\x7f' or ch < " " else ch for ch in value)
    return f'"{escaped}"'


def check_time_zone(settings: Settings) -> None:
    """Raise BadInput for a setting `zone` that names no time zone."""
    if not settings.zone:
        return
    from zoneinfo import ZoneInfo  # takes a hook 3 ms to load

    try:
        ZoneInfo(settings.zone)
    # For a folder of zones, say, or a path, it fails in other ways.
    except (KeyError, ValueError, OSError) as err:
        raise BadInput(
            f"zone = {settings.zone!r} in {settings.home / 'config.toml'} names no time zone. Name "
            "one as Europe/Berlin, or leave it empty for the machine's"
        ) from err


def local_time_zone(settings: Settings) -> str:
    """The IANA name of the time zone that reminders are meant in.

    That of the settings, or the machine's now.
    """
    if settings.zone:
        return settings.zone
    import tzlocal

    try:
        # A laptop travels, and tzlocal would go on answering with the first zone it found.
        tzlocal.reload_localzone()
        return tzlocal.get_localzone_name() or "UTC"
    except (LookupError, OSError):
        return "UTC"


def working_directory() -> Path:
    """The working directory."""
    return Path.cwd()


def environment_without_git() -> dict[str, str]:
    """The environment for a git that is to look at the folder it is started in, and at no other.

    Within a hook, git tells by `GIT_DIR`, `GIT_INDEX_FILE` and others where it is at work.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in KEPT_GIT_VARIABLES
    }


def environment_for_home(home: str) -> dict[str, str]:
    """The environment for a program of ours that is tried in a home of its own.

    It has none of the user's settings.
    """
    others = {name: value for name, value in os.environ.items() if not name.startswith("REVERIE_")}
    return {**others, "REVERIE_HOME": home}


def find_work_tree(folder: Path) -> Path:
    """The folder that holds the files of a folder's repository; the folder itself if none."""
    folders = (folder, *folder.parents)
    return next(
        (place for place in folders if (place / ".git").exists()),
        folder,
    )


def find_project_root(folder: Path) -> Path:
    """The repository, not the work tree, that a folder belongs to; the folder itself if none."""
    for place in (folder, *folder.parents):
        git = place / ".git"
        if git.is_dir():
            return place
        if git.is_file():
            return find_main_tree(git) or place
    return folder


def find_main_tree(git: Path) -> Path | None:
    """The repository behind a work tree's `.git` file; None for a submodule's.

    The file holds "gitdir: …/.git/worktrees/name".
    """
    try:
        target = git.read_text("utf-8", "replace").removeprefix("gitdir:").strip()
    except OSError:
        return None
    common, found, _ = target.partition("/.git/worktrees/")
    return (git.parent / common).resolve() if found else None


def project_space_of(folder: Path) -> str:
    """The space of the project in a folder: `me/<name>-<six hex digits of its path>`.

    The digits keep two projects of one name apart: neither may ever see the other's memories.
    """
    from hashlib import sha256  # OpenSSL takes 4 ms to load

    root = find_project_root(folder.resolve())
    digits = sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:6]
    return f"{ME}/{to_slug(root.name) or 'root'}-{digits}"


def name_of_project_space(space: str) -> str:
    """What a space is called where the path of its folder does not matter: `demo` of
    `me/demo-3f2a91`, which is its project's on this machine alone.
    """
    return re.sub(r"-[0-9a-f]{6}$", "", space.removeprefix(f"{ME}/"))


def default_space() -> str:
    """The space that the working directory belongs to."""
    return project_space_of(working_directory())


def to_slug(name: str) -> str:
    """A name in the letters that a space's path may have, at most 48 of them."""
    return re.sub(r"[^\w.-]+", "-", name.lower()).strip("-.")[:48]


def home_of_address(where: str | Path | None) -> Path | None:
    """The home that an address names if it is a folder; None for a file, `:memory:` or a URL."""
    text = "" if where is None else str(where)
    if where is None or text == ":memory:" or "://" in text or text.endswith(".db"):
        return None
    return sandbox_folder(Path(where).expanduser().absolute())


def hide_password(url: str) -> str:
    """The URL without the password in it, if there is one."""
    url = re.sub(r"^(\w+://[^/@:]*):[^/@]*@", r"\1@", url)
    return re.sub(r"(?<=[?&])password=[^&]*&?", "", url).rstrip("?&")


def resolve_store_url(where: str | Path | None, settings: Settings) -> str:
    """The store URL of an address, or of the file that stands in for it in a sandbox."""
    text = "" if where is None else str(where)
    if text == ":memory:":
        return "sqlite://:memory:"
    if text.endswith(".db") and "://" not in text:
        text = f"sqlite:///{Path(text).expanduser().absolute()}"
    url = text if "://" in text else settings.store or settings.url
    scheme, _, path = url.partition(":///")
    if scheme != "sqlite" or not path:
        return url
    return f"{scheme}:///{sandbox_folder(Path(path).parent) / Path(path).name}"
