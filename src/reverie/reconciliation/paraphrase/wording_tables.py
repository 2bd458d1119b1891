"""Tables of English as people write it about code: synonyms, contrasts, opposites, small words.

Only data, which `concept_vocabulary` and `statement_parser` read. Every row is a line that one can
add to; a word belongs in a table when it is common in talk about software and means the same nearly
everywhere. Words are given in lower case; nouns and verbs in their plain form, other forms are
found by their stem.
"""

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
long detailed lengthy verbose thorough length detail large big huge giant enormous longer \
larger bigger
answer reply respond response
delete remove erase
create add
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
manual manually
automatic automatically
show shown display displayed
hide hidden
hold held
comment comments
install installation
format formatting formatter
review reviewer reviewed
check verify
password passwd
credential secret
email e-mail mail
"""

# One line: things of which one has usually one. "X" in one memory and "Y" in another is a different
# value.
CONTRASTS = """
tab space
npm pnpm yarn bun
pip uv poetry pipenv conda pdm
postgres mysql sqlite mongodb mariadb cockroachdb dynamodb cassandra oracle mssql
python rust go golang java kotlin ruby php scala elixir zig c c++ c# swift haskell perl \
javascript typescript
vim neovim emacs vscode helix nano sublime intellij pycharm zed cursor
pytest unittest nose
jest vitest mocha ava
rest graphql grpc soap
squash rebase
camelcase snake_case pascalcase kebab-case screaming_case
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
all no
start stop
internal external
before_ after_
up down
left right
full empty
missing present
integer float decimal string
utc local
"""

# Opposites are alternatives too, and both cannot hold, whatever else is said; those above are only
# different values.
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
early late
online offline
show hide
include exclude
minimum limit
readonly write
manual automatic
safe dangerous
easy hard
"""

# Where something holds. A memory about one place says nothing about another.
PLACES = """
production staging development local ci sandbox windows linux mac arm64 preview demo qa
"""

# Words that carry no content of their own, beyond the stop words: verbs of being and doing,
# fillers, wishes.
LIGHT = """
use prefer please want always ever really strongly much lot way thing kind get got go goes going
come came make let need require should must have has may might shall will would do done does be is
are was were been being able also just here there then now today currently actually basically
simply remember note user project we i you me my our your it its this that these those one ones
thanks thank ok okay yes sure well good fine important preference preferred better best work works
working keep kept put set take taken happen happens happening live lives located found find stay
mean call run listen reach every each any anything whole entire us team everything everyone
something someone somebody try like rather still already again quite pretty very too so such as
than both either around given back strong strongly handle manage equal reside sit provide available
turn stick follow start begin see look help tell say said ask_ think feel hope wish consider happen
rule approach style convention word line_ place need
"""

# Words that steer a sentence and are no content: they are read for signs and order.
STEERS = """
unless until when whenever if while not never no nor nobody none neither without avoid hate dislike
stop against refuse skip instead before after first then second later only over than worse better
rather forbid prohibit now already love like fond want allow permit
"""

# Content, but of so little weight that one may say it or leave it.
WEAK = """
code file branch word text module line feature tool string character item together whole current
write name number value version size start default service system cause reason
"""

HEDGES = """
most many several half maybe perhaps might probably possibly seems apparently likely presumably
guess suspect could unsure usually mostly often sometimes occasionally generally typically normally
rarely tend try
"""

# Hedges that are none where one thing is set before another: "several small ones rather than a big
# one".
COMPARED = "many several most half"

LIMITS = """
ATMOST ATLEAST except unless only apart besides but however excluding outside unlike although
though BOUND some NOTALL
"""

CHANGES = """
NOLONGER FROMNOW USEDTO CHANGE GONE TAKEOVER left renamed ported converted moved switched migrated
replaced replace changed raised lowered increased reduced decreased dropped rewritten relicensed
upgraded downgraded retired deprecated became stopped lifted switch stop stopped grew shrank
superseded reverted abandoned ditched transferred swapped
"""

SOFT_CHANGES = """
now INSTEADOF TURNEDOUT
"""

# Number words, each with its value.
NUMBERS = """
zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9 ten 10 eleven 11 twelve 12
fifteen 15 twenty 20 thirty 30 forty 40 fifty 50 sixty 60 ninety 90 hundred 100 thousand 1000
"""

# One line: a unit, what it measures (may be two words), how many of the smallest unit it is. Months
# and years are the mean ones of the calendar (365.25 days).
UNITS = """
ms time 0.001
millisecond time 0.001
s time 1
sec time 1
second time 1
min time 60
minute time 60
h time 3600
hour time 3600
day time 86400
week time 604800
month time 2629800
year time 31557600
kb bytes 1e3
mb bytes 1e6
gb bytes 1e9
tb bytes 1e12
percent percent 1
euro euro 1
eur euro 1
dollar dollar 1
usd dollar 1
am clock 1
pm clock pm 1
"""

# The small words by which a sentence is taken apart. One line each: what they are, then the words.

# Other people.
PERSONS = "she he they her his their hers him them"

# Where another clause begins.
JOINTS = """
that which who but because so unless except when if while although though until as BEFORE AFTER
since
"""

# Words that deny.
NOTS = "not never no nor nobody none neither"

# Before which or after which a "not" denies a whole clause.
AUXILIARIES = """
do does did is are was were be can could may might must should shall will would has have had am i
we you user please
"""

# Verbs and prepositions that deny what follows them.
AVOIDS = """
avoid avoids hate hates dislike dislikes stop stops without INSTEADOF NOLONGER NONEED USEDTO forbid
prohibit against refuse split skip ditch drop replace replaced dropped lost
"""

# Marks that deny what they are said of.
AFTERWARDS = "FORBIDDEN GONE"

# A certain day.
WHEN = "today yesterday tomorrow tonight last next ago"

# Main verbs that part what is spoken of from what is said.
VERBS = """
is are was were be been am has have had run runs ran live lives use uses used listen listens stay
stays need needs call calls called own owns belong belongs take takes took come comes came go goes
went contain contains store stores return returns raise raises require requires get gets return
like likes prefer prefers love loves want wants must should may can will would do does did allow
allows target targets process processes end ends fail fails report reports start starts happen
happens keep keeps kept made moved renamed send sends depend depends maintain maintains lead leads
read reads write writes talk talks connect connects handle handles trigger triggers manage manages
expose exposes support supports load loads import imports deploy deploys build builds create
creates delete deletes check checks validate validates cause causes publish publishes consume
consumes crashed
"""

# What may follow a verb that is not in the list.
SMALL = "the a an to on from for with in its their all every no by"

# Prepositions before what a statement is limited to.
SCOPES = "for in on at of within during when if while per under inside across into onto to"

# Words that make a comparison of "than" and "over".
PREFERS = "prefer prefers like likes rather better favor preference want more"

# What follows is no more.
LEAVES = """
INSTEADOF NOLONGER USEDTO stop stopped replaced replace dropped drop not lost removed ditched
abandoned left
"""

# After "was": what stands before is no more.
GOES = "replaced dropped removed retired renamed GONE abandoned left"

# Verbs of which one thing can have many objects: "exports a" and "exports b" are both true.
OPEN = """
export import contain include has have support like love provide expose offer accept depend call
know review report attend speak visit own send mention list define read
"""

# What an opposite is made with.
PREFIXES = "un in im non dis de ir il anti a"

# Where "instead of this" ends.
ENDS = "in into for during is are was were must should can may has have will do does"
