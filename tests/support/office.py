"""An organisation on a server, for tests: its administrator, and whoever is hired."""

from reverie.access import AccessControl
from reverie.access.callers import caller_of
from reverie.access.key_admin import make_key

NOW = 1_800_000_000.0


class Office:
    """The tenant `acme` with its administrator, and whoever is hired."""

    def __init__(self, database):
        from reverie.storage.postgres.access_tables import AccessTables

        self.database = database
        self.tables = AccessTables(database.pool)
        self.control = AccessControl(self.tables)
        self.founded = self.control.tenants.create("acme", admin="boss", now=NOW)
        self.admin = self.control.authenticate(self.founded.key.token, NOW)

    def hire(self, name, **fields):
        """A new user, as the caller of a key of theirs."""
        self.control.people.create_user(self.admin, name, now=NOW, **fields)
        return self.caller(name)

    def caller(self, name, tenant="acme"):
        """A user as they may act now."""
        key, token = make_key(tenant, name, NOW)
        with self.tables.transaction(tenant) as rows:
            rows.add_key(key, token.hash)
            found = rows.lookup_key(key.prefix)
        assert found is not None
        return caller_of(found)

    def store(self, caller):
        """The store as a caller may use it."""
        rights = caller.rights
        return self.database.store(
            caller.tenant, readable=rights.readable_regex, writable=rights.writable_regex
        )
