"""Tables of English as people write it about code: what means the same, what excludes what, what announces a change.

Only data. `statement` reads texts by them. Every row is a line that one can add to; a word belongs in a table when it
is common in talk about software and means the same nearly everywhere. Words are given in lower case; nouns and verbs
in their plain form, other forms are found by their stem.
"""

# Phrases that are read as one word, in the order in which they are looked for. A word in capitals is a mark of ours.
PHRASES: tuple[tuple[str, str], ...] = (
    (r"^\s*(?:no|nope|wrong|actually|well|sorry)\b[,.:;!]+ ", ""),
    (r"(?:can|could) ?(?:not|n't|'t) (?:stand|bear)", "hate"),
    (r"can't|cannot", "can not"), (r"won't", "will not"), (r"ain't", "is not"), (r"n't\b", " not"),
    (r"'ll\b|\b(?:am|is|are|'re|'m|'s) going to(?= \w)", " will"),
    (r"\b(i|we|you|they)'(?:d|ve|re|m)\b", r"\1"), (r"\b(it|that|there|what|here|he|she|who|let)'s\b", r"\1 is"),
    (r"(?<=\w)'(?:s|ll|d|re|ve)\b", ""), (r"(?<=s)'(?=\s)", ""),
    (r"\b(?:not|no) (?:need|have|necessary|required|longer need|longer have) (?:to |for (?:you|me) to )", "NONEED "),
    (r"\bno need(?: to| for)?\b", "NONEED"), (r"\bi changed my mind\b", "CHANGE"),
    (r"\bno longer\b|\bnot (.{1,60}?) (?:any ?more|any longer)\b", r"NOLONGER \1"),
    (r"\b(\w+) no more\b", r"NOLONGER \1"), (r"\bany ?more\b|\bany longer\b", "NOLONGER"),
    (r",? ?\b(?:if you ask me|in my opinion|i think|i believe|as far as i know|as i said)\b,?", ""),
    (r"\bbreak (.{1,40}?) up\b", r"split \1"), (r"\bbreak up\b", "split"),
    (r"\b(?:is|are) NOLONGER (?:allowed|ok|okay|fine|needed|necessary|required|supported|used|wanted)\b", "GONE"),
    (r"\b(?:is|are|was|were) (?:NOLONGER|not) any longer\b", "GONE"), (r"\bhad been\b", "USEDTO"),
    (r"\b(?:it|that) was (\w+) (?:before|until now|so far)\b", r"USEDTO \1"),
    (r"(\w+) ?(?:->|→) ?(?=\w)", r"CHANGE from \1 to "), (r"\bfrom (\S+(?: \S+)?) (?:down |up )?to (?=\S)", r"CHANGE from \1 to "),
    (r"\bfrom now on(?:wards)?\b|\bgoing forward\b|\bin (?:the )?future\b|\bfrom today(?: on)?\b", "FROMNOW"),
    (r"\bas of (?:today|now|this \w+|\w+day)\b|\bsince (?:today|yesterday|this \w+)\b", "FROMNOW"),
    (r"\bnot any ", "no "), (r"\btook over\b", "TAKEOVER"), (r"\bwent from\b", "changed from"),
    (r"\bthe other way (?:a?round)\b", "CHANGE"), (r"\bin place of\b|\binstead of\b|\brather than\b", "INSTEADOF"),
    (r"\b(?:is|are|was|were|be|been|get|gets) used (?:to|for|as)\b", "used"), (r"\bused to\b", "USEDTO"),
    (r"\bturn(?:s|ed)? out\b|\bafter all\b", "TURNEDOUT"), (r"\boff[- ]limits\b", "forbidden"),
    (r"\b(?:turn|switch)(?:s|es|ed)? off\b|\boff\b", "disabled"), (r"\b(?:turn|switch)(?:s|es|ed)? on\b", "enabled"),
    (r"\bon(?= ?[.,;:!]| *$| (?:in|for|at|by|again|now|before|today)\b)", "enabled"),
    (r"\b(?:is|are|was|were) (?:out|gone|history|obsolete|deprecated|retired|dead)\b", "GONE"),
    (r"\bbefore\b|\bprior to\b|\bahead of\b", "BEFORE"), (r"\bonly (?:after|once|when)\b|\bafter(?:wards)?\b", "AFTER"),
    (r"\b(?:tdd|red-green-refactor)\b|\btest[- ]driven(?:[- ]development)?\b|\btest[- ]first(?: development)?\b",
     "test BEFORE code"),
    (r"\b(?:is|are) (?:not allowed|not ok|not okay|not fine|not permitted|forbidden|prohibited|banned|taboo|a no-?go)\b", "FORBIDDEN"),
    (r"\bfree of\b", "not with"), (r"\bwithout any (?:problem|trouble)s?\b", "well"), (r"\b(?:nothing|nobody|no one|none) (?:but|except|other than)\b", "only"),
    (r"\bno one\b", "nobody"), (r"\bmake sure(?: that| to)?\b|\bbe sure to\b|\bensure(?: that)?\b", "always"),
    (r"\bnot (?:all|every)\b", "NOTALL"), (r"\b(?:or|and) (?:later|newer|higher|lower|more|less|above|up)\b", "BOUND"),
    (r"\bgithub actions\b", "github-actions"), (r"\bgitlab ci\b", "gitlab-ci"), (r"\bresponsible for\b", "own"),
    (r"\bbelongs? to\b", "owned by"), (r"\b(?:is|are|was|were) (\w+)'s\b", r"is owned by \1"),
    (r"\bat (?:most|least)\b|\bup to\b|\bno more than\b|\bmore than\b(?= [\d$€£])", "BOUND"),
    (r"\bpull[- ]requests?\b|\bmerge requests?\b|\bprs?\b", "pullrequest"), (r"\bforce[- ]push", "forcepush"),
    (r"\bpush(?:es|ed|ing)? --force\b", "forcepush"), (r"\btype[- ](?:hint|annotation)", "typehint"),
    (r"\bannotat(?:e|es|ed) (.{1,40}?) with types\b", r"typehint \1"), (r"\bline[- ]length\b", "line long"),
    (r"\bcontinuous integration\b", "ci"), (r"\bcode ?base\b|\brepository\b|\brepo\b", "project"),
    (r"\bvs ?code\b|\bvisual studio code\b", "vscode"), (r"\bhost ?name\b", "host name"),
    (r"\bhalf an? minute\b", "30 seconds"), (r"\bhalf an hour\b", "30 minutes"), (r"\ba couple of\b", "2"),
    (r"\ba? ?dozen\b", "12"), (r"\ba single\b", "1"), (r"\btwice\b", "2 times"), (r"\b(\d+)-(?=[a-z])", r"\1 "),
    (r"\b(one|two|three|four|five|six|seven|eight|nine|ten)-(?=[a-z])", r"\1 "),
    (r"(?<=\d)(?= ?%)", " "), (r"%", " percent "), (r"€ ?(\d+)", r"\1 euros"), (r"\$ ?(\d+)", r"\1 dollars"),
    (r"\bin an? (\w+) manner\b", r"\1"), (r"\bread[- ]only\b", "readonly"),
)

# One line: words that say the same. The first is what all of them are read as.
SYNONYMS = """
use utilize employ
database db
postgres postgresql
javascript js
typescript ts
kubernetes k8s
golang go-lang
config configuration configure
production prod
development dev develop
directory dir folder
documentation doc docs document
dependency dep
authentication auth authenticate login
authorization authz
environment env
application app
admin administrator
indent indentation
short brief concise terse succinct shortly briefly concisely small little tiny shorter smaller
long detailed lengthy verbose thorough length detail large big huge giant enormous longer larger bigger
answer reply respond response
delete remove erase
create add make
enable activate
disable deactivate
error failure
start begin launch
require need must mandatory
allow permit
forbid prohibit disallow ban
prefer like rather favor favour want
love fond
hate dislike
mac macos osx
cause reason because due
owner own belong responsible
name called named
store save
keep retention retain kept
sync synchronous synchronously
async asynchronous asynchronously
fast quick faster quicker
slow slower
high higher
low lower
many more
few fewer less
old older
new newer
cheap cheaper
implement implementation code coding
test testing spec suite
typehint typehints
commit committing
deploy deployment release ship rollout
migration migrate
fix repair solve
limit maximum max cap threshold
host server machine box
language lang
picture image
theme mode
max_ maximal
colour color
vegetarian vegetarians
write written wrote
build built
run ran
choose chose chosen pick picked decide decided decision settle settled
find found
emoji emojis
leak leaked
approval approve
function method
result outcome
bug defect
speed performance
branch branches
expire expiry expiration
variable var
parameter param argument arg
version release_
call invoke
message msg
user users
worker workers
minimum min minimal
descending desc
ascending asc
lead leader leads led
maintain maintainer maintains
return returns give
break breaks broke
explain explanation
comment comments
install installation
format formatting formatter
review reviewer reviewed
check verify
password passwd
credential secret
email e-mail mail
"""

# One line: things of which one has usually one. "X" in one memory and "Y" in another is a different value.
CONTRASTS = """
tab space
npm pnpm yarn bun
pip uv poetry pipenv conda pdm
postgres mysql sqlite mongodb mariadb cockroachdb dynamodb cassandra oracle mssql
python rust go golang java kotlin ruby php scala elixir zig c c++ c# swift haskell perl javascript typescript
vim neovim emacs vscode helix nano sublime intellij pycharm zed cursor
pytest unittest nose
jest vitest mocha ava
rest graphql grpc soap
squash rebase
single double
camelcase snake_case pascalcase kebab-case screaming_case
light dark
monday tuesday wednesday thursday friday saturday sunday
january february march april may june july august september october november december
aws gcp azure hetzner
docker podman
flask django fastapi starlette tornado
react vue svelte angular solid preact
webpack vite rollup esbuild parcel turbopack
redis memcached valkey
kafka rabbitmq sqs nats sns pulsar
black ruff yapf autopep8
eslint biome tslint
prettier biome
github gitlab bitbucket gitea
main master develop trunk
jwt session cookie oauth saml
short long
enable disable
sync async
production staging development
english german french spanish italian japanese chinese portuguese dutch polish
mac windows linux
celsius fahrenheit kelvin
mit apache gpl bsd lgpl agpl
toml yaml json ini xml
httpx requests aiohttp urllib3 axios fetch
structlog loguru logging print
dataclass pydantic attrs namedtuple
jenkins circleci travis buildkite github-actions gitlab-ci teamcity
sqlalchemy django-orm peewee prisma drizzle typeorm
alembic flyway liquibase
mkdocs sphinx docusaurus
bash zsh fish powershell
vault env
terraform pulumi cloudformation ansible
ann ben carla
first last
always never
all no
fast slow
many few
above below
high low
increase decrease
start stop
true false
love hate
good bad
broken fine
working broken
fail work
open close
public private
internal external
before_ after_
manual automatic
required optional
mutable immutable
strict lenient
up down
left right
minimum limit
ascending descending
full empty
top bottom
missing present
allow forbid
accept reject
integer float decimal string
utc local
am pm
"""

# Opposites among them: both cannot hold, whatever else is said. The other lines are only different values.
OPPOSITES = """
light dark
short long
enable disable
sync async
always never
fast slow
many few
above below
high low
increase decrease
true false
love hate
good bad
broken fine
working broken
fail work
open close
public private
manual automatic
required optional
mutable immutable
strict lenient
allow forbid
accept reject
single double
am pm
ascending descending
top bottom
"""

# Where something holds. A memory about one place says nothing about another.
PLACES = "production staging development local ci sandbox windows linux mac arm64 preview demo qa"

# Words that carry no content of their own, beyond the stop words: verbs of being and doing, fillers, wishes.
LIGHT = """
use prefer please want always ever really strongly much lot way thing kind sort get got go goes going come came make let
need require should must have has may might shall will would do done does be is are was were been being able also just
here there then now today currently actually basically simply remember note user project we i you me my our your it its
this that these those one ones thanks thank ok okay yes sure well good fine important preference preferred better best work
works working keep kept put set take taken happen happens happening live lives located found find stay mean call
run listen reach every each any anything whole entire us team everything
everyone try like rather still already again quite pretty very too so such as than both either around given back
strong strongly handle manage contain include equal exist reside sit provide available turn stick
follow start begin see look help tell say said ask_ think feel hope wish consider happen
rule approach style convention word line_ place need
"""

# Words that steer a sentence and are no content: they are read for signs and order.
STEERS = "unless until when whenever if while not never no nor nobody none neither without avoid hate dislike stop against refuse skip instead before after \
first then second later only over than worse better rather forbid prohibit now already love like fond want allow permit"

# Content, but of so little weight that one may say it or leave it.
WEAK = "code file branch word text module line feature tool string character item together whole current write name number value version size start default service system cause reason"

HEDGES = "maybe perhaps might probably possibly seems apparently likely presumably guess suspect could unsure usually \
mostly often sometimes occasionally generally typically normally rarely tend try"

LIMITS = "except unless only apart besides but however excluding outside unlike although though BOUND some NOTALL"

CHANGES = "NOLONGER FROMNOW USEDTO CHANGE GONE TAKEOVER left renamed ported converted moved switched migrated replaced replace changed raised lowered \
increased reduced decreased dropped rewritten relicensed upgraded downgraded retired deprecated became stopped lifted \
switch stop stopped grew shrank superseded reverted abandoned ditched transferred swapped"

SOFT_CHANGES = "now INSTEADOF TURNEDOUT"

NUMBERS = {w: n for n, w in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())} | {
    "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90, "hundred": 100,
    "thousand": 1000}

# Unit → (what it measures, how many of the smallest unit it is).
UNITS: dict[str, tuple[str, float]] = {
    "ms": ("time", 0.001), "millisecond": ("time", 0.001), "s": ("time", 1), "sec": ("time", 1), "second": ("time", 1),
    "min": ("time", 60), "minute": ("time", 60), "h": ("time", 3600), "hour": ("time", 3600), "day": ("time", 86400),
    "week": ("time", 604800), "month": ("time", 2629800), "year": ("time", 31557600),
    "kb": ("bytes", 1e3), "mb": ("bytes", 1e6), "gb": ("bytes", 1e9), "tb": ("bytes", 1e12),
    "percent": ("percent", 1), "euro": ("euro", 1), "eur": ("euro", 1), "dollar": ("dollar", 1), "usd": ("dollar", 1),
    "am": ("clock", 1), "pm": ("clock pm", 1),
}
