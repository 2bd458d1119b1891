"""Where verbs of earlier versions are now: old name of `Mind` → its present place.

Only what has moved stands here; a new verb is a method of its group and nothing else.
"""

# A line for each: the name that it had on `Mind`, and where it is.
MOVED_LINES = """\
due reminders.due
done reminders.done
cancel reminders.cancel
snooze reminders.snooze
index_code code.index
forget_code code.forget
code_is_whole code.is_whole
find_symbol code.find_symbol
callers code.callers
callees code.callees
dependencies code.dependencies
contents code.contents
structure code.structure
search_similar code.search_similar
map code.map
about code.anchors
anchor code.anchor
confirm code.confirm
outdated code.outdated
add_folder files.add_folder
remove_folder files.remove_folder
folders files.folders
sync_files files.sync
search_files files.search
read_file files.read
save_note files.save_note
update_file files.update
file_history files.history
restore_file files.restore
record_file activity.record_file
record_task activity.record_task
unrecorded activity.unrecorded
deeds activity.events
touched activity.touched
tool_stats activity.stats
suggest_fix activity.suggest_fix
known_fixes activity.known_fixes
coedited activity.coedited
workflows activity.workflows
learn_git activity.learn_git
sql activity.sql
analysis activity.analysis
export_parquet activity.export_parquet
learned_patterns activity.learned_patterns
session sessions.read
source sessions.source
window sessions.window
condense sessions.condense
rejected sessions.rejected
hold sessions.hold
held sessions.held
release sessions.release
recount episodes.record
chain episodes.chain
journal episodes.journal
season episodes.season
feel feelings.record
unfeel feelings.remove
resolve review.resolve
curate review.curate
promote review.promote
pending review.pending
gaps review.gaps
twin review.near_duplicate
vouch review.vouch
teach procedures.teach
outcome procedures.outcome
verify data.verify
stats data.stats
usage data.usage
export data.export
import_ data.import_
import_from data.import_from
import_beside data.import_beside
share data.share
unshare data.unshare
shares data.shares
backup data.backup
restore_backup data.restore_backup
purge data.purge
scrub data.scrub
wordings data.wordings
mirror data.mirror
"""

# What was a verb and is a group now: its class, and the verb that does the same.
CALLED_GROUPS = {
    "EpisodeVerbs": "episodes.browse",
    "FeelingVerbs": "feelings.browse",
    "ProcedureVerbs": "procedures.find",
    "ReminderVerbs": "reminders.browse",
    "ReviewVerbs": "review.cases",
    "SessionVerbs": "sessions.browse",
}
MOVED_VERBS: dict[str, str] = dict(line.split() for line in MOVED_LINES.splitlines())
