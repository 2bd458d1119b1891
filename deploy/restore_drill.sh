#!/bin/sh
# Restore a backup to a moment, beside the running database, and look at what is in it.
#
#   restore_drill.sh BACKUP ARCHIVE MOMENT FOLDER
#
#   BACKUP   a base backup in plain format, as `pg_basebackup --pgdata=BACKUP` writes it
#   ARCHIVE  the folder that archive_command copies the write-ahead log to
#   MOMENT   "2026-11-28 13:00:00+00": nothing later is there; or "latest"
#   FOLDER   becomes the restored database: a short path that does not exist yet
#
# Nothing is written but FOLDER, and nothing listens but a socket in it. The server is left running,
# so that one can look: its address is the last line, and the command that ends it stands above it.
# Run it as the user that PostgreSQL runs as, not as root. Variables: PG_BIN, the folder of
# PostgreSQL's programs; PGUSER and PGDATABASE (postgres, reverie).
set -eu

[ $# -eq 4 ] || { sed -n '2,15s/^# \{0,1\}//p' "$0" >&2; exit 2; }
backup=$1 archive=$2 moment=$3 folder=$4
user=${PGUSER:-postgres} database=${PGDATABASE:-reverie}
PATH="${PG_BIN:+$PG_BIN:}$PATH"
unset PGHOST PGPORT PGPASSWORD PGSERVICE

[ -f "$backup/PG_VERSION" ] || { echo "$backup is no base backup in plain format" >&2; exit 2; }
[ -d "$archive" ] || { echo "there is no folder $archive" >&2; exit 2; }
mkdir -m 0700 "$folder" "$folder/socket"
folder=$(cd "$folder" && pwd)
archive=$(cd "$archive" && pwd)

# Is it whole? The manifest has a checksum of each file.
if (pg_verifybackup --version) > /dev/null 2>&1; then
    pg_verifybackup --quiet --no-parse-wal "$backup"
else
    echo "pg_verifybackup does not run here: the backup's checksums were not compared"
fi
cp -R "$backup" "$folder/data"
chmod -R go= "$folder/data"

# Settings of its own: those of the original might archive over its log, or take its port.
rm -f "$folder/data/postgresql.auto.conf" "$folder/data/standby.signal"
echo "local all all trust" > "$folder/hba.conf"
: > "$folder/ident.conf"
{
    echo "data_directory = '$folder/data'"
    echo "hba_file = '$folder/hba.conf'"
    echo "ident_file = '$folder/ident.conf'"
    echo "listen_addresses = ''"
    echo "unix_socket_directories = '$folder/socket'"
    echo "archive_mode = off"
    echo "hot_standby = off"
    echo "restore_command = 'cp \"$archive/%f\" \"%p\"'"
    if [ "$moment" = latest ]; then
        echo "recovery_target_timeline = 'latest'"
    else
        echo "recovery_target_time = '$moment'"
        echo "recovery_target_action = 'promote'"
    fi
} > "$folder/drill.conf"
touch "$folder/data/recovery.signal"

# It takes connections once the log has been replayed, and ends if the log stops before the moment.
pg_ctl --pgdata="$folder/data" --log="$folder/server.log" --wait --timeout=3600 \
    --options="-c config_file='$folder/drill.conf'" start > "$folder/start.log" || true
until pg_isready --quiet --host="$folder/socket"; do
    if ! pg_ctl --pgdata="$folder/data" status > "$folder/start.log"; then
        echo "it cannot be restored to $moment:" >&2
        grep -E 'FATAL|ERROR' "$folder/server.log" >&2 || tail -n 5 "$folder/server.log" >&2
        exit 1
    fi
    sleep 1
done

ask() { psql --host="$folder/socket" --username="$user" --dbname="$database" --no-psqlrc -qAt "$@"; }
echo "restored: $(sed -n 's/.*last completed transaction was at log time //p' "$folder/server.log" | tail -n 1)"
ask --set=ON_ERROR_STOP=1 <<'SQL'
set search_path = reverie, public;
select 'schema: step ' || max(step) from schema_version;
select tenant || ': ' || count(*) || ' memories, the last of ' || to_timestamp(max(created_at))
from memory group by tenant order by tenant;
SQL
# Every row is read, and every index compared with its table: what is torn is found here, and not
# by a search next month.
pg_dump --host="$folder/socket" --username="$user" --schema=reverie "$database" > /dev/null
echo "tables: sound"
if [ "$(ask --command="select count(*) from pg_available_extensions where name = 'amcheck'")" = 1 ]
then
    pg_amcheck --host="$folder/socket" --username="$user" --schema=reverie --install-missing \
        --heapallindexed "$database"
    echo "indexes: sound"
else
    echo "indexes: not compared, the extension amcheck is not installed"
fi
echo "to end it: pg_ctl --pgdata='$folder/data' stop"
echo "postgresql://$user@/$database?host=$folder/socket"
