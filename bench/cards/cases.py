"""Tool calls, and the memories that belong to them.

`TUNED` were looked at while the code was written, `HELD_OUT` were written before it and looked at
once, at the end. `hits` are calls at which the memory belongs, `misses` calls that look alike.
`ORDINARY` are calls of everyday work to which none of the memories of `UNRELATED` belongs.
"""

from typing import Any, NamedTuple


class Call(NamedTuple):
    """A tool call, and what it failed with."""

    tool: str
    given: dict[str, Any]
    error: str = ""


class Card(NamedTuple):
    """A memory as somebody keeps it, and where it belongs."""

    what: str  # file, type, error or act: what calls it up
    text: str
    kind: str
    hits: tuple[Call, ...]
    misses: tuple[Call, ...] = ()


def bash(command: str, error: str = "") -> Call:
    """A command."""
    return Call("Bash", {"command": command}, error)


def read(path: str) -> Call:
    """A file that is read."""
    return Call("Read", {"file_path": f"/home/me/app/{path}"})


def edit(path: str, new: str = "x = 1") -> Call:
    """A file that is edited."""
    return Call("Edit", {"file_path": f"/home/me/app/{path}", "old_string": "a", "new_string": new})


def write(path: str, content: str = "text") -> Call:
    """A file that is written."""
    return Call("Write", {"file_path": f"/home/me/app/{path}", "content": content})


def patch(path: str) -> Call:
    """A file that Codex patches."""
    return Call(
        "apply_patch",
        {"command": f"*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch"},
    )


TUNED = (
    Card(
        "file",
        "src/pay/stripe.py retries twice because the sandbox drops every third call.",
        "fact",
        (edit("src/pay/stripe.py"), read("src/pay/stripe.py"), patch("src/pay/stripe.py")),
        (edit("src/pay/paypal.py"), read("src/stripe.py.bak"), bash("git status")),
    ),
    Card(
        "type",
        "In SQL we write keywords in lower case.",
        "preference",
        (write("db/0001.sql", "select 1;"), edit("reports/weekly.sql"), patch("db/2.sql")),
        (write("db/models.py"), read("db/0001.sql"), bash("ls db")),
    ),
    Card(
        "type",
        "Docker images must always pin the base image by digest.",
        "negative",
        (write("Dockerfile", "FROM x"), edit("services/api/Dockerfile")),
        (write("src/docker.py"), bash("docker ps")),
    ),
    Card(
        "error",
        "“ECONNREFUSED 127.0.0.1:5433” means that the tunnel is down: run make tunnel.",
        "learning",
        (bash("npm test", "Error: connect ECONNREFUSED 127.0.0.1:5433\n    at TCPConnectWrap"),),
        (
            bash("npm test", "Error: connect ECONNREFUSED 127.0.0.1:6379"),
            bash("npm test", "TypeError: x is not a function"),
        ),
    ),
    Card(
        "act",
        "Never delete the production database.",
        "negative",
        (
            bash("psql -h prod -c 'DROP DATABASE shop'"),
            bash("dropdb -h prod.db.internal shop"),
            bash("aws rds delete-db-instance --db-instance-identifier prod"),
        ),
        (bash("rm -rf build"), bash("psql -c 'select 1'"), bash("docker rm web")),
    ),
    Card(
        "act",
        "Nie direkt auf main pushen",
        "negative",
        (bash("git push origin main"), bash("git push")),
        (bash("git pull"), bash("npm run main")),
    ),
    Card(
        "act",
        "Verwende niemals println!",
        "negative",
        (edit("src/main.rs", 'println!("x");'),),
        (edit("src/main.rs", "log::info!(1);"),),
    ),
    Card(
        "act",
        "No hagas nunca push --force a la rama principal.",
        "negative",
        (bash("git push --force origin main"),),
        (bash("git fetch --force"),),
    ),
)

HELD_OUT = (
    Card(
        "file",
        "The retry table lives in lib/backoff/schedule.rb and is read by two services.",
        "fact",
        (edit("lib/backoff/schedule.rb"), patch("lib/backoff/schedule.rb")),
        (edit("lib/backoff/jitter.rb"), read("spec/schedule.rb.txt")),
    ),
    Card(
        "file",
        "In `frontend/src/theme/tokens.ts` werden Farben aus Figma erzeugt, nicht von Hand.",
        "fact",
        (write("frontend/src/theme/tokens.ts"), read("frontend/src/theme/tokens.ts")),
        (write("frontend/src/theme/tokens.test.ts"), read("backend/src/tokens.ts")),
    ),
    Card(
        "file",
        "El archivo config/routes.yaml lo lee también el equipo de datos: avisar antes de cambiarlo.",
        "correction",
        (edit("config/routes.yaml"),),
        (edit("config/locales.yaml"), edit("config/routes.yaml.d/a.txt")),
    ),
    Card(
        "file",
        "invoice_export.py must keep the byte order mark, Excel needs it.",
        "fact",
        (
            edit("src/billing/invoice_export.py"),
            bash("sed -i 's/a/b/' src/billing/invoice_export.py"),
        ),
        (edit("src/billing/invoice_import.py"), edit("tests/test_invoice_export.py")),
    ),
    Card(
        "file",
        "package.json pins react at 18 until the charts library moves on.",
        "decision",
        (edit("package.json"),),
        (read("node_modules/left-pad/package.json"),),
    ),
    Card(
        "type",
        "Terraform-Module bekommen immer eine README und Ausgaben mit Beschreibung.",
        "preference",
        (write("infra/vpc/main.tf"),),
        (write("infra/vpc/notes.md"), bash("terraform plan")),
    ),
    Card(
        "type",
        "Las migraciones deben ser reversibles.",
        "preference",
        (write("db/migrations/0042_add_status.py"),),
        (write("db/seeds/users.py"), read("db/migrations/0041_init.py")),
    ),
    Card(
        "type",
        "Shell scripts start with set -euo pipefail.",
        "preference",
        (write("scripts/release.sh"),),
        (write("scripts/release.py"), bash("bash scripts/release.sh")),
    ),
    Card(
        "type",
        "Dans le CSS, pas de !important.",
        "negative",
        (write("web/styles/main.css", "a{}"),),
        (write("web/main.ts"),),
    ),
    Card(
        "type",
        "Never use latest as a tag in a Dockerfile.",
        "negative",
        (edit("docker/worker/Dockerfile", "RUN make"), write("Dockerfile.prod", "FROM a:1")),
        (edit("docker/worker/entry.py"),),
    ),
    Card(
        "type",
        "GitHub Actions workflows must pin actions by commit hash.",
        "correction",
        (write(".github/workflows/release.yml"),),
        (write("config/release.yml"),),
    ),
    Card(
        "error",
        "When the build says 'heap out of memory', set NODE_OPTIONS=--max-old-space-size=6144.",
        "learning",
        (
            bash(
                "npm run build",
                "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
            ),
        ),
        (bash("npm run build", "Error: Cannot find module 'vite'"),),
    ),
    Card(
        "error",
        "TS2742 in the ui package: the inferred type needs an explicit annotation.",
        "learning",
        (
            bash(
                "pnpm tsc", "src/a.ts(3,1): error TS2742: The inferred type of 'x' cannot be named"
            ),
        ),
        (bash("pnpm tsc", "src/a.ts(3,1): error TS2304: Cannot find name 'x'."),),
    ),
    Card(
        "error",
        "„no pg_hba.conf entry for host“ kommt, wenn das VPN nicht läuft.",
        "fact",
        (
            bash(
                "alembic upgrade head",
                'FATAL:  no pg_hba.conf entry for host "10.8.0.4", user "app", database "app"',
            ),
        ),
        (bash("alembic upgrade head", 'FATAL: password authentication failed for user "app"'),),
    ),
    Card(
        "error",
        "Si sale \"Cannot find module '@acme/tokens'\", falta ejecutar pnpm -r build.",
        "learning",
        (bash("pnpm test", "Error: Cannot find module '@acme/tokens'\nRequire stack:\n- /a/b.js"),),
        (bash("pnpm test", "Error: Cannot find module '@acme/icons'\nRequire stack:\n- /a/b.js"),),
    ),
    Card(
        "error",
        "Permission denied on /var/run/docker.sock: log in again so that the docker group counts.",
        "learning",
        (
            bash(
                "docker compose up",
                "permission denied while trying to connect to the Docker daemon socket at "
                "unix:///var/run/docker.sock",
            ),
        ),
        (bash("./deploy.sh", "bash: ./deploy.sh: Permission denied"),),
    ),
    Card(
        "error",
        "RowVersionConflict is thrown when two workers take the same job; retrying is safe.",
        "fact",
        (bash("go test ./queue", "queue.RowVersionConflict: job 77 was taken"),),
        (bash("go test ./queue", "queue_test.go:12: got 3, want 4"),),
    ),
    Card(
        "act",
        "Bitte niemals die Kundendatenbank löschen.",
        "negative",
        (bash("mysql -e 'drop database customers'"), bash("dropdb customers")),
        (bash("rm build/out.txt"), bash("mysql -e 'select 1'")),
    ),
    Card(
        "act",
        "Ne jamais pousser directement sur la branche release.",
        "negative",
        (bash("git push origin release"),),
        (bash("git pull origin release"),),
    ),
    Card(
        "act",
        "Nunca uses console.log en el código de producción.",
        "negative",
        (edit("src/a.ts", "console.log(1)"),),
        (edit("src/a.ts", "logger.info(1)"),),
    ),
    Card(
        "act",
        "Do not truncate tables on staging.",
        "negative",
        (bash("psql staging -c 'TRUNCATE TABLE orders'"),),
        (bash("truncate -s 0 app.log"), bash("psql staging -c 'select 1'")),
    ),
    Card(
        "act",
        "Kein `--no-verify` bei Commits!",
        "negative",
        (bash("git commit --no-verify -m x"),),
        (bash("git commit -m x"),),
    ),
    Card(
        "act",
        "N'utilisez jamais eval() dans les scripts.",
        "negative",
        (edit("a.js", "eval(x)"),),
        (edit("a.js", "evaluate(x)"),),
    ),
    Card(
        "act",
        "不要直接推送到 main 分支",
        "negative",
        (bash("git push origin main"),),
        (bash("git log main"),),
    ),
    Card(
        "act",
        "No borres nunca los volúmenes de Docker.",
        "negative",
        (bash("docker volume rm data"), bash("docker volume prune -f")),
        (bash("docker ps"),),
    ),
    Card(
        "act",
        "Niemals Abhängigkeiten mit pip installieren, immer uv.",
        "negative",
        (bash("pip install requests"),),
        (bash("uv add requests"),),
    ),
    Card(
        "act",
        "Never deploy on Fridays.",
        "negative",
        (bash("make deploy"),),
        (bash("make test"),),
    ),
)

UNRELATED = (
    ("The staging server is called heron.", "fact"),
    ("Sam prefers short answers.", "preference"),
    ("We use pnpm, not npm.", "preference"),
    ("src/legacy/soap_client.py is frozen until the bank moves.", "fact"),
    ("Never edit files under gen/.", "negative"),
    ("The invoice numbers restart every year.", "fact"),
    ("“certificate has expired” from the proxy means: run scripts/renew.sh.", "learning"),
    ("When the printer says PC LOAD LETTER, refill tray 2.", "learning"),
    ("Decided on Redis for sessions because of the time to live.", "decision"),
    ("Haskell code is formatted with ormolu.", "preference"),
    ("Kotlin files need the licence header.", "preference"),
    ("Never drop the audit database.", "negative"),
    ("Niemals in src/vendored/ schreiben.", "negative"),
    ("Nunca uses moment.js.", "negative"),
    ("Ne jamais utiliser `curl -k`.", "negative"),
    ("The error E4711 comes from the mainframe at month end.", "fact"),
    ("SQLSTATE 40P01 is retried by the job runner.", "fact"),
    ("Undefined symbol: _ZN4acme: rebuild the core library first.", "learning"),
    ("Ann owns billing, Bob owns search.", "fact"),
    ("Releases are cut on Tuesdays.", "fact"),
    ("ops/runbook.md tells how to restore a backup.", "fact"),
    ("The Lua plugins run in a sandbox without io.", "preference"),
    ("Never commit files larger than 5 MB.", "fact"),
    ("Connection refused on port 9092 means that Kafka is not up: make kafka.", "learning"),
    ("cannot find symbol UserDto: run the code generator first.", "learning"),
    ("Module not found: acme_core needs pip install -e core.", "learning"),
    ("Permission denied on deploy keys: ask Ann.", "learning"),
    ("Swift files: no force unwrapping.", "preference"),
    ("GraphQL schemas are reviewed by the API group.", "preference"),
    ("docs/adr/0007-events.md explains the outbox.", "fact"),
)

_FILE_NAMES = """
src/app.py src/models/user.py src/models/order.py src/api/routes.py src/api/auth.py
tests/test_user.py tests/test_routes.py tests/conftest.py README.md pyproject.toml
web/src/App.tsx web/src/index.ts web/src/api/client.ts web/src/components/Button.tsx
web/package.json web/tsconfig.json web/src/styles/app.css scripts/release.sh Makefile Dockerfile
docker-compose.yml .github/workflows/ci.yml infra/main.tf cmd/server/main.go internal/queue/queue.go
internal/queue/queue_test.go src/lib.rs src/parser/mod.rs Cargo.toml db/schema.sql
db/migrations/0003_orders.sql docs/index.md docs/how-to/deploy.md config/settings.yaml
app/models/invoice.rb spec/models/invoice_spec.rb src/main/java/acme/Order.java
"""
_FILES = _FILE_NAMES.split()
_COMMANDS = """
git status
git diff --stat
git log --oneline -5
git add -A && git commit -m 'Fix rounding'
git checkout -b feature/rounding
ls -la src
cat src/app.py
grep -rn TODO src
rg "def total" src
find . -name '*.py' | head
python -m pytest -q
pytest tests/test_user.py -x
uv run mypy src
npm run build
npm ci
pnpm install
cargo build
cargo test -- --nocapture
go test ./...
go vet ./internal/...
make test
docker compose up -d
docker ps
docker logs api --tail 50
kubectl get pods -n shop
terraform plan
psql -c 'select count(*) from orders'
curl -s localhost:8000/health
sed -n 1,80p src/models/user.py
rm -rf dist
mkdir -p build
pip install -e .
ruff check src
npx eslint web/src
node scripts/build.js
head -50 README.md
tail -f logs/app.log
ps aux | grep uvicorn
echo done
which python3
""".strip().splitlines()
_FAILURES = (
    (
        "python -m pytest -q",
        "E   AssertionError: assert 3 == 4\nFAILED tests/test_a.py::test_total",
    ),
    ("python app.py", "ModuleNotFoundError: No module named 'requests'"),
    ("npm run build", "src/App.tsx(3,7): error TS2304: Cannot find name 'useUser'."),
    ("cargo build", "error[E0425]: cannot find value `total` in this scope"),
    ("go test ./...", "--- FAIL: TestQueue (0.00s)\n    queue_test.go:12: got 1, want 2"),
    ("./run.sh", "bash: ./run.sh: Permission denied"),
    ("cat nothing.txt", "cat: nothing.txt: No such file or directory"),
    ("yarn", "bash: yarn: command not found"),
    (
        "curl localhost:8000",
        "curl: (7) Failed to connect to localhost port 8000: Connection refused",
    ),
    ("psql shop", 'psql: error: FATAL:  database "shop" does not exist'),
    ("git push", "error: failed to push some refs to 'origin'"),
    ("docker compose up", "Error response from daemon: Conflict. The container name is in use"),
    ("javac A.java", "A.java:3: error: cannot find symbol\n  symbol:   variable total"),
    ("node a.js", "Error: Cannot find module 'express'"),
    ("make", "make: *** No rule to make target 'all'.  Stop."),
    ("terraform apply", "Error: Unsupported argument on main.tf line 3"),
    ("python b.py", "KeyError: 'user'"),
    ("python c.py", "ValueError: invalid literal for int() with base 10: 'x'"),
    ("kubectl get pods", "The connection to the server 10.0.0.1:6443 was refused"),
    ("ruby a.rb", "a.rb:3:in `<main>': undefined method `total' for nil (NoMethodError)"),
)
ORDINARY = (
    *(read(path) for path in _FILES),
    *(edit(path, "total = sum(rows)\nreturn total") for path in _FILES),
    *(write(path, "one\ntwo\n") for path in _FILES[::2]),
    *map(bash, _COMMANDS),
    *(bash(command, error) for command, error in _FAILURES),
)
