"""How the command line is divided, and what its commands were called before that."""

# What `reverie --help` lists with a sentence each, in the order of the first hour.
FIRST_COMMANDS = (
    "install tour remember recall list explain edit forget undo remind learn guards status doctor"
)
# What `reverie help` lists by itself, under these headings.
SECTIONS = {
    "Remember, find, change": "remember recall find list show explain edit forget undo review "
    "remind guards plan learn sleep",
    "Set up and look after": "web status proof off on install uninstall doctor mcp tour",
}
GROUPS = {
    "memory": "Tags, links, feelings, history; bring back, approve.",
    "reminder": "What is due; say that it is done, cancel, put off.",
    "procedure": "How things are done, and what to beware of.",
    "code": "Index a repository; its map, callers, symbols.",
    "files": "Search folders of notes, and write into them.",
    "session": "Past conversations, working memory, replay.",
    "episode": "What happened: keep it, list it, a journal by day.",
    "activity": "What agents did: errors and fixes, files, SQL.",
    "data": "The store: export, import, back up, check, erase.",
    "server": "A team's server: set up, start, users, keys, rights.",
    "sync": "The same memory on all your machines: folder or git.",
    "team": "A team's server: log in, share spaces, be in step.",
}

# All commands stood side by side before they were grouped. Scripts, hooks and habits know those
# names: they go on working. A command that is added to a group later does not belong here, but for
# `move`, which people look for beside `edit`.
MOVED_COMMANDS = {
    name: f"{group} {name}"
    for group, names in {
        "memory": "move tag link feedback restore history similar graph tags kinds hints retrieve "
        "gaps curate promote feel feelings season",
        "reminder": "due done cancel snooze",
        "procedure": "teach outcome warnings",
        "code": "index map callers symbol",
        "session": "rejected hold held release replay window condense",
        "episode": "journal chain",
        "activity": "log fix coedited touched workflows sql",
        "data": "export import backup verify stats settle mirror purge scrub llm",
    }.items()
    for name in names.split()
} | {
    "reminders": "reminder list",
    "procedures": "procedure list",
    "snippets": "code similar",
    "about": "code anchors",
    "sessions": "session list",
    "session": "session show",
    "recount": "episode add",
    "episodes": "episode list",
}
# What lists the ids that a command takes, where it is not `list`.
LISTING_COMMANDS = {
    "undo": "undo",
    "reminder done": "reminder list",
    "reminder cancel": "reminder list",
    "reminder snooze": "reminder list",
    **dict.fromkeys(("share", "unshare", "trust"), "spaces"),
    **dict.fromkeys(("team share", "team unshare", "team trust"), "spaces"),
    "team approve": "login",
}
