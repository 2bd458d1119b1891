"""The commands that set a team's server up and run it: init, migrate, start, worker."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reverie.core import clock
from reverie.core.config import Settings
from reverie.core.errors import ExtraMissing
from reverie.core.installation import advise_install
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.commands.data_commands import work_until_idle
from reverie.interfaces.cli.terminal_output import print_note

if TYPE_CHECKING:
    from reverie.access import AccessControl
    from reverie.access.tenant_admin import NewTenant
    from reverie.interfaces.server.server_run import ListenOptions
    from reverie.storage.postgres import PostgresDatabase

commands = CommandTable()
top = CommandTable()

DEFAULT_TENANT, DEFAULT_ADMIN = "default", "admin"
Tenant = Annotated[
    str, typer.Option("--tenant", metavar="NAME", help="The tenant: one organisation.")
]


def load_server() -> Any:
    """The module that runs a server; ExtraMissing without what it needs."""
    try:
        from reverie.interfaces.server import server_run
    except ModuleNotFoundError as err:
        raise ExtraMissing(
            f"The server needs the package {err.name}. Install it with: {advise_install('server')}"
        ) from err
    return server_run


@contextmanager
def open_control(settings: Settings) -> "Iterator[tuple[PostgresDatabase, AccessControl]]":
    """The database, and who may what in it."""
    server_run = load_server()
    with (
        server_run.known_database(settings) as found,
        server_run.open_database(found) as database,
    ):
        yield database, server_run.open_access(database)


@commands.add("init", spaced=False)
def init_server(
    cli: CliContext,
    url: Annotated[
        str | None,
        typer.Argument(
            metavar="URL",
            help="The database, empty or Reverie's: postgresql://owner@host/database. Default: "
            "REVERIE_SERVER_DATABASE.",
        ),
    ] = None,
    tenant: Tenant = DEFAULT_TENANT,
    admin: Annotated[str, "The name of the tenant's first administrator."] = DEFAULT_ADMIN,
    citus: Annotated[bool, "Spread the tables over the nodes of a Citus cluster."] = False,
) -> None:
    """Create tables, roles, a tenant and its administrator.

    The administrator's key is shown once. What is there already stays as it is, so that it may be
    run again.
    """
    settings = cli.settings._replace(server_database=url or cli.settings.server_database)
    with open_control(settings) as (database, control):
        steps = database.prepare()
        if citus:
            database.distribute()
        new = add_first_tenant(control, tenant, admin)
    cli.answer(
        {"steps": steps, "tenant": tenant, "key": new.key.token if new else None},
        describe_init(steps, tenant, new),
    )


def add_first_tenant(control: "AccessControl", name: str, admin: str) -> "NewTenant | None":
    """The tenant with its administrator; None if it is there already."""
    if any(tenant.name == name for tenant in control.tenants.list()):
        return None
    return control.tenants.create(name, admin=admin, now=clock.now())


def describe_init(steps: int, tenant: str, new: "NewTenant | None") -> Iterator[str]:
    """What was done, and the key."""
    yield f"The database is ready ({steps} steps of its schema taken)."
    if new is None:
        yield f"The tenant {tenant} was there already: reverie server key issue makes keys."
        return
    yield f"Tenant {tenant}, administrator {new.admin.name}. This key is shown once:"
    yield f"\n    {new.key.token}\n"
    yield "Start the server: reverie server start"


@commands.add("migrate", spaced=False)
def migrate_database(cli: CliContext) -> None:
    """Bring the database to this version's schema.

    Servers of the release before go on meanwhile, and afterwards: upgrade them one by one.
    """
    with open_control(cli.settings) as (database, _):
        steps = database.prepare()
    cli.answer({"steps": steps}, f"{steps} steps taken." if steps else "It is up to date.")


@dataclass
class ListenChoices:
    """Options of `start`: where and how to listen."""

    host: Annotated[str, "The address to listen on."] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 takes a free one.")] = (
        8378
    )
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The certificate, with its chain.")
    ] = None
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its private key.")] = None
    behind_proxy: Annotated[bool, "A proxy before it ends TLS."] = False
    forwarded_allow_ips: Annotated[
        str, "With --behind-proxy: the proxies whose word about clients is taken."
    ] = "127.0.0.1"
    workers_inside: Annotated[int, typer.Option(min=0, help="Workers in this process.")] = 1
    tenant_metrics: Annotated[bool, "Count requests by tenant for Prometheus, too."] = False


@commands.add("start", spaced=False)
def start_server(
    cli: CliContext,
    choices: ListenChoices,
    embedded: Annotated[
        bool, "Try it out: with a PostgreSQL of its own, in the folder “server” of the home."
    ] = False,
) -> None:
    """Serve a team's memory by HTTP and MCP, until Ctrl-C.

    It works on REVERIE_SERVER_DATABASE, or server_database in config.toml, which `reverie server
    init` has prepared. `reverie server` alone does the same.
    """
    server_run = load_server()
    options = server_run.ListenOptions(**vars(choices))
    server_run.check_listening(options)
    server_run.log_as_json()
    if not embedded:
        run_server(cli, cli.settings, options)
        return
    with server_run.embedded_database(cli.settings) as settings:
        with server_run.open_database(settings) as database:
            database.prepare()
            new = add_first_tenant(server_run.open_access(database), DEFAULT_TENANT, DEFAULT_ADMIN)
        if new is not None:
            print_note(
                f"A new team of one: tenant {DEFAULT_TENANT}, administrator {DEFAULT_ADMIN}. This "
                f"key is shown once:\n\n    {new.key.token}\n\nInvite the others, in another "
                "terminal: reverie server invite new spaces=demo right=write"
            )
        run_server(cli, settings, options)


def run_server(cli: CliContext, settings: Settings, options: "ListenOptions") -> None:
    """Serve until told to stop."""

    def say_address(address: str) -> None:
        cli.note(
            f"Serving at {address}; open it in a browser and sign in with a key. MCP at "
            f"{address}/mcp. Ctrl-C stops."
        )

    load_server().serve(settings, options, say_address)


Count = Annotated[int, typer.Option(min=1, help="How many, as threads.")]


@top.add("worker", spaced=False, hidden=True)
def run_team_worker(cli: CliContext, count: Count = 1) -> None:
    """Do what a team's server leaves to be done: reverie server worker.

    Where no server's database is configured it is what it was called before there were servers: the
    worker of this machine's own memory, reverie data worker.
    """
    if cli.settings.server_database:
        run_worker(cli, count)
    else:
        work_until_idle(cli)


@commands.add("worker", spaced=False)
def run_worker(cli: CliContext, count: Count = 1) -> None:
    """Do what a server leaves to be done, until Ctrl-C.

    That is vectors, reconciliation, sleep and retention, for all tenants. Any number of such
    processes may run, on any machines.
    """
    server_run = load_server()
    server_run.log_as_json()
    cli.note("Working. Ctrl-C stops.")
    server_run.run_workers(cli.settings, count)
