"""Rows of the files that users' devices leave for each other, within one transaction of a tenant.

A file is written once, by whoever is first: another one of its name is refused, and so is a
replacement by somebody who has not seen what lies there. What is in it is sealed. Row security
holds every statement to the spaces of whoever asks, as it does for memories.
"""

from __future__ import annotations

from reverie.storage.access_records import DeviceFile, DevicePlace
from reverie.storage.postgres.connection import TenantConnection


class DeviceFileRows:
    """Files of devices; needs `keeping_files`, or `governing` for those that only read."""

    db: TenantConnection

    def device_files(self, space: str) -> list[DeviceFile]:
        """The files of a place that are shown, by name."""
        rows = self.db.fetch_rows(
            """
            select name, octet_length(data), digest, written_at
            from device_file
            where tenant = %(tenant)s and space = %(space)s and removed_at is null
            order by name
            """,
            space=space,
        )
        return [
            DeviceFile(space=space, name=name, size=size, digest=digest, written_at=at)
            for name, size, digest, at in rows
        ]

    def device_file(self, space: str, name: str) -> tuple[str, bytes] | None:
        """(digest, what it holds) of a file that is shown."""
        rows = self.db.fetch_rows(
            """
            select digest, data from device_file
            where tenant = %(tenant)s and space = %(space)s and name = %(name)s
                and removed_at is null
            """,
            space=space,
            name=name,
        )
        return (str(rows[0][0]), bytes(rows[0][1])) if rows else None

    def device_file_size(self, space: str, name: str) -> int:
        """The bytes of a file that is shown; 0 if there is none."""
        rows = self.db.fetch_rows(
            """
            select octet_length(data) from device_file
            where tenant = %(tenant)s and space = %(space)s and name = %(name)s
                and removed_at is null
            """,
            space=space,
            name=name,
        )
        return int(rows[0][0]) if rows else 0

    def add_device_file(
        self, space: str, name: str, digest: str, data: bytes, now: float
    ) -> DeviceFile | None:
        """Add a file; None if it was added, else the one that lies there under this name."""
        added = self.db.run(
            """
            insert into device_file (tenant, space, name, digest, data, written_at, seen_at)
            values (%(tenant)s, %(space)s, %(name)s, %(digest)s, %(data)s, %(now)s, %(now)s)
            on conflict (tenant, space, name) do nothing
            """,
            space=space,
            name=name,
            digest=digest,
            data=data,
            now=now,
        )
        if added.rowcount:
            return None
        size, kept, at = self.db.fetch_rows(
            """
            select octet_length(data), digest, written_at from device_file
            where tenant = %(tenant)s and space = %(space)s and name = %(name)s
            """,
            space=space,
            name=name,
        )[0]
        return DeviceFile(space=space, name=name, size=size, digest=kept, written_at=at)

    def replace_device_file(
        self, space: str, name: str, digest: str, data: bytes, now: float, *, before: str
    ) -> bool:
        """Put another file in the place of the one with the digest `before`; False if that does
        not lie there.
        """
        done = self.db.run(
            """
            update device_file
            set digest = %(digest)s, data = %(data)s, written_at = %(now)s, seen_at = %(now)s
            where tenant = %(tenant)s and space = %(space)s and name = %(name)s
                and digest = %(before)s and removed_at is null
            """,
            space=space,
            name=name,
            digest=digest,
            data=data,
            now=now,
            before=before,
        )
        return done.rowcount == 1

    def remove_device_file(self, space: str, name: str) -> bool:
        """Erase a file; False if there was none."""
        gone = self.db.run(
            """
            delete from device_file
            where tenant = %(tenant)s and space = %(space)s and name = %(name)s
            """,
            space=space,
            name=name,
        )
        return gone.rowcount == 1

    def hide_device_file(self, space: str, name: str, now: float) -> bool:
        """Show a file to nobody any more, and keep it; False if there was none. It is kept under
        its name and digest, so that the name can be given to another one.
        """
        self.db.run(
            """
            insert into device_file
                (tenant, space, name, digest, data, written_at, seen_at, removed_at)
            select tenant, space, name || ' ' || digest, digest, data, written_at, seen_at, %(now)s
            from device_file
            where tenant = %(tenant)s and space = %(space)s and name = %(name)s
                and removed_at is null
            on conflict (tenant, space, name) do nothing
            """,
            space=space,
            name=name,
            now=now,
        )
        return self.remove_device_file(space, name)

    def note_place_seen(self, space: str, now: float, *, every: float) -> None:
        """Keep that somebody looked at a place, once in so many seconds."""
        self.db.run(
            """
            update device_file set seen_at = %(now)s
            where tenant = %(tenant)s and space = %(space)s and seen_at < %(before)s
            """,
            space=space,
            now=now,
            before=now - every,
        )

    def device_places(self, space: str = "") -> list[DevicePlace]:
        """How much lies in a place, or in every one of the tenant; none where nothing does."""
        rows = self.db.fetch_rows(
            """
            select space, count(*), count(removed_at), coalesce(sum(octet_length(data)), 0)::bigint,
                max(seen_at)
            from device_file
            where tenant = %(tenant)s and (%(space)s = '' or space = %(space)s)
            group by space order by space
            """,
            space=space,
        )
        return [
            DevicePlace(space=space, files=files, hidden=hidden, bytes=size, seen_at=seen_at)
            for space, files, hidden, size, seen_at in rows
        ]

    def erase_device_files(self, space: str, *, only_hidden: bool = False) -> int:
        """Erase the files of a place, or those that nobody is shown; how many there were."""
        gone = self.db.run(
            """
            delete from device_file
            where tenant = %(tenant)s and space = %(space)s
                and (not %(only_hidden)s or removed_at is not null)
            """,
            space=space,
            only_hidden=only_hidden,
        )
        return int(gone.rowcount)
