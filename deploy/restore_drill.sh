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
pg_verifybackup --quiet --no-parse-wal "$backup"
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

if ! pg_ctl --pgdata="$folder/data" --log="$folder/server.log" --wait --timeout=3600 \
    --options="-c config_file='$folder/drill.conf'" start > "$folder/start.log"
then
    echo "it cannot be restored to $moment:" >&2
    grep -E 'FATAL|ERROR' "$folder/server.log" >&2 || tail -n 5 "$folder/server.log" >&2
    exit 1
fi

ask() { psql --host="$folder/socket" --username="$user" --dbname="$database" --no-psqlrc -qAt "$@"; }
echo "restored: $(sed -n 's/.*last completed transaction was at log time //p' "$folder/server.log" | tail -n 1)"
ask --set=ON_ERROR_STOP=1 <<'SQL'
set search_path = reverie, public;
select 'schema: step ' || max(step) from schema_version;
select tenant || ': ' || count(*) || ' memories, the last of ' || to_timestamp(max(created_at))
from memory group by tenant order by tenant;
SQL
# Every index against its table: what is torn is found here, and not by a search next month.
pg_amcheck --host="$folder/socket" --username="$user" --schema=reverie --install-missing \
    --heapallindexed "$database"
echo "indexes: sound"
echo "to end it: pg_ctl --pgdata='$folder/data' stop"
echo "postgresql://$user@/$database?host=$folder/socket"
