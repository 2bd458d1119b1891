"""Hindsight: the archive that exporting a bank, or some of its documents, gives.

A ZIP with `manifest.json`, a file for each document with the facts that were taken out of it, and
`observations.json`, which were made out of facts; with a whole bank also directives and mental
models. The documents' own texts stay out: they are where they came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reverie.core.errors import BadInput
from reverie.porting.importers.foreign_archives import ForeignFiles
from reverie.porting.importers.foreign_texts import fingerprint_passage, parse_json_column
from reverie.porting.importers.import_records import (
    BadRecord,
    ForeignRecord,
    FoundRecord,
    ImportItem,
    ImportRemark,
    ReadingContext,
    RecordLink,
    as_mapping,
    as_texts,
    drop_empty_values,
    try_record,
)

MANIFEST = re.compile(r"manifest\.json")
DOCUMENT = re.compile(r"documents/\d+\.json")
OBSERVATIONS = re.compile(r"observations\.json")
DIRECTIVES = re.compile(r"directives\.json")
MENTAL_MODELS = re.compile(r"mental_models\.json")
KINDS = {"world": "fact", "experience": "event", "opinion": "observation"}
# weight of the tie between a fact and the one that caused it, or that an observation rests on
TIE = 0.6
# the first that is said is when it happened
TIMES = ("occurred_start", "mentioned_at", "event_date", "created_at")


def fits(path: Path) -> bool:
    """True for an archive of Hindsight's, or the folder that it unpacks to."""
    if path.is_file() and path.suffix != ".zip":
        return False
    with ForeignFiles(path) as files:
        return any(
            "source_bank_id" in as_mapping(files.read_json(name)) for name in files.names(MANIFEST)
        )


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every fact, observation, directive and mental model."""
    with ForeignFiles(path) as files:
        texts = 0
        facts: dict[tuple[str, int], str] = {}
        for name in files.names(DOCUMENT):
            try:
                document = ForeignRecord(as_mapping(files.read_json(name)), name, reading.zone)
                texts += bool(document.text("original_text"))
                yield from read_document(document, facts)
            except BadInput as err:
                yield BadRecord(name, str(err))
        for pattern, build in (
            (OBSERVATIONS, build_observation),
            (DIRECTIVES, build_directive),
            (MENTAL_MODELS, build_mental_model),
        ):
            for name in files.names(pattern):
                for record in list_records(files, name, reading.zone):
                    yield try_record(build, record, facts)
    if texts:
        yield ImportRemark(f"The texts of {texts:,} documents stay out: their facts came")


def list_records(
    files: ForeignFiles,
    name: str,
    zone: str,
) -> Iterator[ForeignRecord | BadRecord]:
    """The records of a file with a list."""
    return files.records(name, zone, lambda value: isinstance(value, dict))


def read_document(
    document: ForeignRecord,
    facts: dict[tuple[str, int], str],
) -> Iterator[FoundRecord | BadRecord]:
    """The facts of a document, whose names are kept in `facts` by document and place."""
    id = document.require("id")
    values = document.values.get("facts")
    records = [
        document._replace(values=as_mapping(value), where=f"{document.where}, fact {place + 1:,}")
        for place, value in enumerate(values if isinstance(values, list) else ())
    ]
    keys = [name_fact(id, record) for record in records]
    facts.update({(id, place): key for place, key in enumerate(keys)})
    for record, key in zip(records, keys, strict=True):
        yield try_record(build_fact, record, key, keys, document.texts("tags"))


def name_fact(document: str, record: ForeignRecord) -> str:
    """What a fact is called: its id there or, in older archives, what it says in which document."""
    return record.text("source_id") or f"{document}#{fingerprint_passage(record.text('text'))}"


def build_fact(
    record: ForeignRecord,
    key: str,
    keys: list[str],
    tags: list[str],
) -> FoundRecord:
    """A fact that was taken out of a document."""
    ties = []
    for value in record.values.get("causal_relations") or ():
        place = as_mapping(value).get("target_fact_index")
        if isinstance(place, int) and 0 <= place < len(keys):
            ties.append(RecordLink("relates_to", keys[place], TIE))
    return record.to_found(
        key,
        record.require("text"),
        choose_time(record),
        odd=record.explain_unread(TIMES),
        ties=tuple(ties),
        fields=drop_empty_values(
            kind=KINDS.get(record.text("fact_type"), "fact"),
            tags=list(dict.fromkeys([*record.texts("tags"), *tags])),
            details=drop_empty_values(
                context=record.text("context"),
                entities=record.texts("entities"),
                metadata=dict(record.part("metadata").values),
                type=record.text("fact_type"),
                occurred_until=record.time("occurred_end"),
            ),
        ),
    )


def build_observation(
    record: ForeignRecord,
    facts: dict[tuple[str, int], str],
) -> FoundRecord:
    """Something that was made out of facts."""
    ties = []
    for value in record.values.get("sources") or ():
        source = as_mapping(value)
        key = facts.get((source.get("document_id", ""), source.get("fact_index", -1)))
        if key:
            ties.append(RecordLink("derived_from", key, TIE))
    return record.to_found(
        record.text("source_id") or f"observation#{fingerprint_passage(record.text('text'))}",
        record.require("text"),
        choose_time(record),
        odd=record.explain_unread(TIMES),
        ties=tuple(ties),
        state={"strength": record.whole_number("proof_count", 1)},
        fields=drop_empty_values(
            kind="observation",
            provenance="inferred",
            tags=record.texts("tags"),
        ),
    )


def build_directive(record: ForeignRecord, _facts: Any) -> FoundRecord:
    """A rule that the bank's owner set."""
    if record.values.get("is_active") in (False, 0):
        raise BadInput("it is switched off there")
    name = record.text("name")
    return record.to_found(
        f"directive:{record.text('id') or fingerprint_passage(name)}",
        record.require("content"),
        "created_at",
        fields=drop_empty_values(
            kind="preference",
            title=name,
            tags=as_texts(parse_json_column(record.values.get("tags"))),
        ),
    )


def build_mental_model(record: ForeignRecord, _facts: Any) -> FoundRecord:
    """A page that was made out of facts."""
    name = record.text("name")
    return record.to_found(
        f"model:{record.text('id') or fingerprint_passage(name)}",
        record.text("content", "observations") or record.require("description"),
        "last_refreshed_at" if record.values.get("last_refreshed_at") else "created_at",
        fields=drop_empty_values(
            kind="note",
            title=name,
            provenance="inferred",
            tags=as_texts(parse_json_column(record.values.get("tags"))),
            details=drop_empty_values(question=record.text("source_query")),
        ),
    )


def choose_time(record: ForeignRecord) -> str:
    """The field that says when it happened, or else when it was said."""
    return next((name for name in TIMES if record.time(name) is not None), TIMES[0])
