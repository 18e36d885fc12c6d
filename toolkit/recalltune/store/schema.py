"""The tables, as one SQL script: names, types and constraints have this single source.

``docs/tables.md`` explains every column. Two conventions hold everywhere: ids are text, and
instants are TIMESTAMPTZ read back as int64 microseconds since 1970 UTC. Nested values that no
query reaches into (``meta``, ``expectations``, ``evidence``, ``settings``) are JSON text.
"""

from __future__ import annotations

__all__ = ["BEGINNING_US", "ORDER_KEYS", "SCHEMA", "SCHEMA_NUMBER"]

SCHEMA_NUMBER = 4
"""Rises with every change to `SCHEMA`; a file with another number is rebuilt, not migrated."""

BEGINNING_US = -(2**62)
"""``enters_at`` of an undated, tellable span: earlier than any instant, and safe to subtract."""

SCHEMA = """
create table schema_number (number integer not null);

create table text (
    text_hash varchar primary key check (length(text_hash) = 64),
    text varchar not null,
    chars bigint not null check (chars >= 0),
    tokens bigint not null check (tokens >= 0)
);

create table claim (
    kind varchar not null check (kind in ('memory', 'turn')),
    ref varchar not null check (ref <> ''),
    file varchar not null,
    line bigint not null check (line >= 1),
    stated_at timestamptz,
    edits boolean not null,
    withheld boolean not null,
    said varchar not null,
    span varchar,
    primary key (kind, ref, file, line),
    check ((kind = 'memory') = (span is not null))
);

create table turn (
    turn_id varchar primary key check (turn_id <> ''),
    session_id varchar not null,
    session_kind varchar not null
        check (session_kind in ('interactive', 'cron', 'heartbeat', 'subagent')),
    seq bigint not null check (seq >= 0),
    role varchar not null,
    text_hash varchar not null,
    said_at timestamptz,
    told_at timestamptz,
    scope varchar not null,
    source varchar not null,
    file varchar not null,
    also_in varchar[] not null,
    line bigint check (line >= 1),
    sidechain boolean not null,
    meta varchar not null
);

create table memory (
    memory_id varchar primary key check (memory_id <> ''),
    text_hash varchar not null,
    gist varchar,
    title varchar,
    layer varchar not null check (layer <> ''),
    category varchar,
    tier varchar,
    scope varchar not null,
    project varchar,
    subject varchar,
    origin varchar,
    salience double check (salience between 0 and 1),
    confidence double check (confidence between 0 and 1),
    pinned boolean not null,
    status varchar not null check (status in ('current', 'superseded', 'retracted')),
    superseded_by varchar,
    superseded_at timestamptz,
    retracted_at timestamptz,
    reason varchar,
    duplicate_of varchar,
    valid_from timestamptz,
    valid_until timestamptz,
    turn_id varchar,
    session varchar,
    source varchar not null,
    tags varchar[] not null,
    meta varchar not null
);

create table memory_span (
    memory_id varchar not null,
    version integer not null check (version >= 1),
    text_hash varchar not null,
    scope varchar not null,
    audience varchar not null,
    event_at timestamptz,
    known_at timestamptz,
    gated boolean not null,
    told_at timestamptz,
    leaves_at timestamptz,
    superseded_at timestamptz,
    retracted_at timestamptz,
    lifted varchar,
    gist varchar,
    title varchar,
    layer varchar check (layer <> ''),
    category varchar,
    tier varchar,
    project varchar,
    subject varchar,
    origin varchar,
    salience double check (salience between 0 and 1),
    confidence double check (confidence between 0 and 1),
    pinned boolean,
    valid_from timestamptz,
    valid_until timestamptz,
    turn_id varchar,
    session varchar,
    source varchar,
    tags varchar[],
    file varchar not null,
    also_in varchar[] not null,
    enters_at timestamptz generated always as (
        case when gated and told_at is null then null
             when gated then greatest(known_at, told_at)
             else known_at end
    ),
    primary key (memory_id, version),
    check (gated or told_at is null),
    check (case when layer is null
                then coalesce(gist, title, category, tier, project, subject, origin, turn_id,
                              session, source) is null
                     and coalesce(salience, confidence) is null
                     and coalesce(valid_from, valid_until) is null
                     and pinned is null and tags is null
                else pinned is not null and source is not null and tags is not null end)
);

create table job (
    kind varchar not null,
    ref varchar not null,
    state varchar not null,
    attempts integer not null check (attempts >= 0),
    owner varchar,
    lease_until timestamptz,
    reason varchar,
    primary key (kind, ref)
);

create table event (
    event_id varchar primary key,
    scope varchar not null,
    origin varchar,
    text_hash varchar not null,
    happened_at timestamptz,
    told_at timestamptz,
    source varchar not null,
    file varchar not null,
    meta varchar not null
);

create table sharing (
    sharing_id varchar primary key,
    turn_id varchar not null,
    candidates varchar[] not null,
    acknowledged_at timestamptz,
    judged_at timestamptz,
    state varchar not null,
    file varchar not null,
    meta varchar not null
);

create table access (
    memory_id varchar not null,
    used_at timestamptz not null,
    kind varchar not null check (kind in ('recalled', 'shown', 'cited', 'manual')),
    audience varchar not null,
    file varchar not null,
    primary key (memory_id, used_at, kind, audience, file)
);

create table search_log (
    query_id varchar not null,
    query varchar not null,
    asked_at timestamptz,
    scope varchar,
    shown varchar[] not null,
    scores double[] not null,
    file varchar not null,
    primary key (query_id, file),
    check (len(scores) = 0 or len(scores) = len(shown))
);

create table vector (
    encoder_id varchar not null,
    text_hash varchar not null,
    dim integer not null check (dim >= 1),
    vector blob not null,
    primary key (encoder_id, text_hash),
    check (octet_length(vector) = 4 * dim)
);

create table eval_case (
    case_set varchar not null,
    case_id varchar not null check (case_id <> ''),
    query varchar not null,
    asked_at timestamptz,
    scope varchar,
    profile varchar,
    top_k integer not null check (top_k >= 1),
    session varchar,
    kind varchar,
    lang varchar,
    split varchar check (split in ('tune', 'held_out')),
    expectations varchar not null,
    file varchar not null,
    primary key (case_set, case_id)
);

create table label (
    case_set varchar not null,
    case_id varchar not null,
    memory_id varchar not null,
    role varchar not null check (role in ('target', 'hard_negative', 'expected_order')),
    grade integer not null check (grade >= 0),
    place integer check (place >= 1),
    judgement varchar not null check (judgement in ('judged', 'weak')),
    file varchar not null,
    primary key (case_set, case_id, memory_id, role)
);

create table run (
    run_id varchar primary key,
    kind varchar not null,
    config varchar not null,
    config_fingerprint varchar not null,
    data_digest varchar not null,
    encoder_id varchar,
    code_version varchar not null,
    case_set varchar,
    settings varchar not null
);

create table hit (
    run_id varchar not null,
    query_id varchar not null,
    rank integer not null check (rank >= 1),
    memory_id varchar not null,
    score double,
    evidence varchar,
    primary key (run_id, query_id, rank)
);

create table metric (
    run_id varchar not null,
    query_id varchar not null,
    metric varchar not null,
    value double,
    reason varchar,
    primary key (run_id, query_id, metric)
);

create table sweep (
    sweep_id varchar primary key,
    config varchar not null,
    space varchar not null,
    config_fingerprint varchar not null,
    data_digest varchar not null,
    encoder_id varchar,
    code_version varchar not null,
    case_set varchar not null,
    case_ids varchar[] not null,
    settings varchar not null
);

create table sweep_point (
    sweep_id varchar not null,
    point_id varchar not null,
    metric varchar not null,
    setting varchar not null,
    value double,
    case_values double[] not null,
    primary key (sweep_id, point_id, metric)
);

create table packing (
    run_id varchar not null,
    query_id varchar not null,
    layer varchar not null,
    candidates bigint not null check (candidates >= 0),
    picked bigint not null check (picked >= 0),
    dropped bigint not null check (dropped >= 0),
    oversize bigint not null check (oversize >= 0),
    tokens bigint not null check (tokens >= 0),
    cap bigint,
    floor bigint,
    primary key (run_id, query_id, layer)
);

create table ledger (
    run_id varchar not null,
    seq integer not null check (seq >= 1),
    hop varchar not null,
    reason varchar not null,
    query_id varchar,
    asked_at timestamptz,
    primary key (run_id, seq)
);

create table ingest_file (
    path varchar primary key,
    sha256 varchar not null check (length(sha256) = 64),
    format varchar not null,
    settings varchar not null,
    records bigint not null check (records >= 0),
    kept bigint not null check (kept >= 0),
    dropped bigint not null check (dropped >= 0),
    reasons varchar not null,
    check (records = kept + dropped)
);
"""

ORDER_KEYS: dict[str, tuple[str, ...]] = {
    "text": ("text_hash",),
    "claim": ("kind", "ref", "file", "line"),
    "turn": ("session_id", "seq", "turn_id"),
    "memory": ("memory_id",),
    "memory_span": ("memory_id", "version"),
    "job": ("kind", "ref"),
    "event": ("event_id",),
    "sharing": ("sharing_id",),
    "access": ("memory_id", "used_at", "kind", "audience", "file"),
    "search_log": ("query_id", "file"),
    "vector": ("encoder_id", "text_hash"),
    "eval_case": ("case_set", "case_id"),
    "label": ("case_set", "case_id", "role", "place", "memory_id"),
    "run": ("run_id",),
    "hit": ("run_id", "query_id", "rank"),
    "metric": ("run_id", "query_id", "metric"),
    "sweep": ("sweep_id",),
    "sweep_point": ("sweep_id", "point_id", "metric"),
    "packing": ("run_id", "query_id", "layer"),
    "ledger": ("run_id", "seq"),
    "ingest_file": ("path",),
}
"""Every table and the columns its rows are read in order of."""
