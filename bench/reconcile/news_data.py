"""What the bench of news is made of: statements that replace others, and many that do not.

`news_develop.txt` and `news_held_out.txt` are written by hand, a line a case. Beside them, frames
with subjects and values are filled here: the same subject with another value is news; another
subject, or the same with another frame, is not. The two halves share no frame, no subject and no
value.
"""

import random
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
HALVES = ("develop", "held out")
SEED = 5
# Of one frame: values that follow each other, and pairs that have nothing to do with each other.
NEWS_OF_A_FRAME = 6
BOTH_OF_A_FRAME = 20
BETWEEN_FRAMES = 200


class NewsCase(NamedTuple):
    """What was believed, what was said later, and what has to come of it."""

    case: str  # news, correction, trust, both, fuller, paraphrase
    language: str
    old: str
    new: str


class Frame(NamedTuple):
    """A way to state one thing of many subjects; each has one value at a time."""

    language: str
    text: str  # with {s} and {v}
    subjects: tuple[str, ...]
    values: tuple[str, ...]
    kind_of_relation: str  # frames of one language that share it say the same


def _frame(language: str, relation: str, text: str, subjects: str, values: str) -> Frame:
    def split(listed: str) -> tuple[str, ...]:
        return tuple(one.strip() for one in listed.split("/"))

    return Frame(language, text, split(subjects), split(values), relation)


SERVICES = "billing service/search service/image proxy/login page/metrics exporter/job scheduler"
DIENSTE = "Abrechnungsdienst/Suchdienst/Bilddienst/Anmeldedienst/Messdienst"
SERVICIOS = "servicio de pagos/servicio de búsqueda/servicio de imágenes/servicio de correo"
SERVICES_FR = "service de paiement/service de recherche/service d'images/service de courrier"
FRAMES = {
    "develop": (
        _frame("en", "port", "The {s} listens on port {v}.", SERVICES, "4100/4217/5230/6001"),
        _frame("en", "language", "The {s} is written in {v}.", SERVICES, "Go/Rust/Python/Scala"),
        _frame("en", "owner", "{v} owns the {s}.", SERVICES, "Ann/Bob/Chen/Dora"),
        _frame("en", "store", "The {s} keeps its data in {v}.", SERVICES, "Postgres/Redis/SQLite"),
        _frame(
            "en", "host", "{s} runs on {v}.", "Jenkins/Nexus/Sentry/Vault", "heron/falcon/osprey"
        ),
        _frame(
            "en",
            "least",
            "{s} {v} is the minimum.",
            "Python/Node/Java/Ruby",
            "3.9/3.12/18/20",
        ),
        _frame(
            "en",
            "day",
            "The {s} is on {v}.",
            "planning meeting/retrospective/demo/release call",
            "Monday/Tuesday/Thursday/Friday",
        ),
        _frame(
            "en",
            "home",
            "My {s} lives in {v}.",
            "sister/brother/landlord/trainer",
            "Leeds/York/Bath/Hull",
        ),
        _frame("de", "port", "Der {s} läuft auf Port {v}.", DIENSTE, "4100/4217/5230"),
        _frame("de", "language", "Der {s} ist in {v} geschrieben.", DIENSTE, "Go/Rust/Python"),
        _frame("es", "port", "El {s} escucha en el puerto {v}.", SERVICIOS, "4100/4217/5230"),
        _frame("es", "language", "El {s} está escrito en {v}.", SERVICIOS, "Go/Rust/Python"),
        _frame("fr", "port", "Le {s} écoute sur le port {v}.", SERVICES_FR, "4100/4217/5230"),
        _frame("fr", "language", "Le {s} est écrit en {v}.", SERVICES_FR, "Go/Rust/Python"),
        _frame(
            "zh",
            "port",
            "{s}监听 {v} 端口。",
            "支付服务/搜索服务/图片服务/邮件服务",
            "4100/4217/5230",
        ),
    ),
    "held out": (
        _frame(
            "en",
            "room",
            "The {s} is kept in {v}.",
            "spectrometer/laser cutter/projector/first aid kit/spare keys/label printer",
            "room 12/room 31/the basement/the annex",
        ),
        _frame(
            "en",
            "colour",
            "The colour of the {s} is {v}.",
            "front door/team jersey/logo/warning banner/hallway",
            "blue/green/orange/grey",
        ),
        _frame(
            "en",
            "head",
            "{v} heads the {s}.",
            "choir/finance committee/robotics club/alumni board/night shift",
            "Ingrid/Mateo/Fatima/Wei",
        ),
        _frame(
            "en",
            "price",
            "A ticket for the {s} costs {v} euros.",
            "aquarium/opera/ferry/botanical garden",
            "12/18/25/40",
        ),
        _frame(
            "en",
            "limit",
            "The maximum {s} is {v}.",
            "upload size/queue length/cart total/guest count/retry delay",
            "25/64/120/300",
        ),
        _frame(
            "en",
            "birthday",
            "{s}'s birthday is on {v}.",
            "Ines/Karim/Paula/Viktor",
            "4 March/19 July/2 October",
        ),
        _frame(
            "en",
            "tool",
            "We use {v} for {s}.",
            "feature flags/error tracking/load testing/code search/password storage",
            "Larkspur/Marigold/Tamarind",
        ),
        _frame(
            "en",
            "employer",
            "{s} works for {v}.",
            "My neighbour/Aunt Tilda/Quentin/The plumber",
            "Siemens/Nestlé/the city council",
        ),
        _frame(
            "de",
            "room",
            "Der {s} steht in {v}.",
            "Laserdrucker/Beamer/Werkzeugkasten/Kopierer",
            "Raum 12/Raum 31/Halle 4",
        ),
        _frame(
            "de",
            "head",
            "{v} leitet den {s}.",
            "Chor/Finanzausschuss/Schachklub/Förderverein",
            "Ingrid/Mateo/Fatma",
        ),
        _frame(
            "es",
            "price",
            "La entrada al {s} cuesta {v} euros.",
            "acuario/museo/teatro/zoológico",
            "12/18/25",
        ),
        _frame(
            "es",
            "head",
            "{v} preside el {s}.",
            "coro/comité de becas/club de ajedrez/patronato",
            "Ingrid/Mateo/Fátima",
        ),
        _frame(
            "fr",
            "price",
            "L'entrée du {s} coûte {v} euros.",
            "musée/théâtre/zoo/planétarium",
            "12/18/25",
        ),
        _frame(
            "fr",
            "head",
            "{v} préside le {s}.",
            "chœur/comité des fêtes/club d'échecs/conseil syndical",
            "Ingrid/Mateo/Fatima",
        ),
        _frame(
            "zh",
            "price",
            "{s}的门票是 {v} 元。",
            "水族馆/博物馆/植物园/动物园",
            "12/18/25",
        ),
        _frame("zh", "head", "{v}主管{s}。", "财务部/市场部/法务部", "赵敏/孙伟/周杰"),
    ),
}


def read_cases(half: str) -> list[NewsCase]:
    """The cases of one half that were written by hand."""
    path = HERE / f"news_{half.replace(' ', '_')}.txt"
    lines = [line for line in path.read_text("utf-8").splitlines() if line and line[0] != "#"]
    return [NewsCase(*(part.strip() for part in line.split("|"))) for line in lines]


def fill_frames(half: str) -> list[NewsCase]:
    """News and pairs that have nothing to do with each other, from the frames of one half."""
    rng = random.Random(SEED)
    cases: list[NewsCase] = []
    for frame in FRAMES[half]:
        news, both = _fill_frame(frame)
        cases += rng.sample(news, min(NEWS_OF_A_FRAME, len(news)))
        cases += rng.sample(both, min(BOTH_OF_A_FRAME, len(both)))
    between = list(_fill_between(half))
    return cases + rng.sample(between, min(BETWEEN_FRAMES, len(between)))


def _fill_frame(frame: Frame) -> tuple[list[NewsCase], list[NewsCase]]:
    def say(subject: str, value: str) -> str:
        return frame.text.format(s=subject, v=value)

    news, both = [], []
    for subject in frame.subjects:
        for one, other in combinations(frame.values, 2):
            news.append(NewsCase("news", frame.language, say(subject, one), say(subject, other)))
    for one, other in combinations(frame.subjects, 2):
        for value in frame.values:
            for later in frame.values:
                both.append(NewsCase("both", frame.language, say(one, value), say(other, later)))
    return news, both


def _fill_between(half: str) -> Iterator[NewsCase]:
    """Pairs of two frames: one subject with two of its sides, or nothing in common."""
    rng = random.Random(SEED)
    for one, other in combinations(FRAMES[half], 2):
        if one.language != other.language:
            continue
        shared = [subject for subject in one.subjects if subject in other.subjects]
        for subject in one.subjects:
            theirs = subject if subject in shared else rng.choice(other.subjects)
            yield NewsCase(
                "both",
                one.language,
                one.text.format(s=subject, v=rng.choice(one.values)),
                other.text.format(s=theirs, v=rng.choice(other.values)),
            )
