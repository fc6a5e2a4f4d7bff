-- Version 1. Never edited: later versions are later entries of `migrations.rs`.

-- How far each event segment was read into this index.
CREATE TABLE segments (
    segment_no INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    indexed_bytes INTEGER NOT NULL CHECK (indexed_bytes >= 0),
    -- Hash of the last indexed bytes: another one means another file.
    mark TEXT NOT NULL
) STRICT;

-- Every event applied, and where its line is.
CREATE TABLE events (
    event_id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    at TEXT NOT NULL,
    segment_no INTEGER NOT NULL REFERENCES segments ON DELETE CASCADE,
    start INTEGER NOT NULL CHECK (start >= 0),
    len INTEGER NOT NULL CHECK (len > 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE tasks (
    task_no INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    first_at TEXT NOT NULL,
    last_at TEXT NOT NULL,
    CHECK (first_at <= last_at)
) STRICT;

-- Paths and arguments are JSON: a string, or {"b64": …} where they aren't UTF-8.
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    task_no INTEGER NOT NULL REFERENCES tasks,
    session TEXT,
    agent TEXT,
    tool TEXT,
    check_kind TEXT CHECK (check_kind IN ('test', 'lint', 'type', 'format', 'build')),
    argv TEXT NOT NULL CHECK (json_valid(argv)),
    root TEXT NOT NULL CHECK (json_valid(root)),
    dir TEXT NOT NULL CHECK (json_valid(dir)),
    command_key TEXT NOT NULL,
    started_at TEXT NOT NULL,
    ended_at TEXT NOT NULL,
    duration_us INTEGER NOT NULL CHECK (duration_us >= 0),
    exit_code INTEGER CHECK (exit_code BETWEEN 0 AND 255),
    signal INTEGER CHECK (signal BETWEEN 1 AND 128),
    passed INTEGER NOT NULL GENERATED ALWAYS AS (exit_code IS 0) STORED,
    branch TEXT,
    commit_id TEXT,
    CHECK ((exit_code IS NULL) <> (signal IS NULL))
) STRICT;

CREATE TABLE failure_categories (
    name TEXT PRIMARY KEY,
    description TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO failure_categories VALUES
    ('test_failure', 'tests ran and failed, or a coverage threshold was missed'),
    ('build_error', 'a compiler or bundler found an error'),
    ('lint_error', 'a linter or formatter found something'),
    ('type_error', 'a type checker found something'),
    ('runtime_error', 'a program crashed'),
    ('missing_dependency', 'something that should be installed is not'),
    ('config_error', 'the tool did not do its job: configuration, usage, nothing to check'),
    ('other', 'none of these');

CREATE TABLE qa_failures (
    failure_no INTEGER PRIMARY KEY,
    failure_id TEXT NOT NULL,
    run_id TEXT NOT NULL UNIQUE REFERENCES runs ON DELETE CASCADE,
    category TEXT NOT NULL REFERENCES failure_categories (name),
    summary TEXT NOT NULL,
    item_count INTEGER NOT NULL CHECK (item_count >= 0),
    redactions INTEGER NOT NULL CHECK (redactions >= 0),
    lesson_id TEXT,
    lesson_file TEXT,
    no_lesson TEXT CHECK (no_lesson IN ('known', 'forgotten', 'cancelled')),
    CHECK ((lesson_id IS NULL) <> (no_lesson IS NULL)),
    CHECK ((lesson_id IS NULL) = (lesson_file IS NULL))
) STRICT;

CREATE TABLE failure_files (
    failure_no INTEGER NOT NULL REFERENCES qa_failures ON DELETE CASCADE,
    path TEXT NOT NULL,
    PRIMARY KEY (failure_no, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE qa_failure_patterns (
    pattern_no INTEGER PRIMARY KEY,
    pattern_id TEXT NOT NULL,
    pattern_key TEXT NOT NULL UNIQUE,
    family_key TEXT NOT NULL,
    tool TEXT NOT NULL,
    code TEXT,
    masked TEXT NOT NULL,
    masked_family TEXT NOT NULL,
    -- The run whose item gave the texts: the one with the smallest id.
    described_by TEXT NOT NULL,
    first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    failure_count INTEGER NOT NULL CHECK (failure_count >= 0),
    CHECK (first_seen <= last_seen)
) STRICT;

CREATE TABLE qa_pattern_occurrences (
    pattern_no INTEGER NOT NULL REFERENCES qa_failure_patterns ON DELETE CASCADE,
    failure_no INTEGER NOT NULL REFERENCES qa_failures ON DELETE CASCADE,
    task_no INTEGER NOT NULL REFERENCES tasks,
    at TEXT NOT NULL,
    item_count INTEGER NOT NULL CHECK (item_count >= 1),
    -- The first item of this pattern in the run.
    file TEXT,
    line INTEGER CHECK (line >= 1),
    test TEXT,
    message TEXT NOT NULL,
    PRIMARY KEY (pattern_no, failure_no)
) STRICT, WITHOUT ROWID;

-- What was done to lessons after they were written.
CREATE TABLE lesson_changes (
    event_id TEXT PRIMARY KEY,
    lesson_id TEXT NOT NULL,
    change TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- No lesson is to be written for these again.
CREATE TABLE forgotten_patterns (
    pattern_key TEXT NOT NULL,
    event_id TEXT NOT NULL,
    PRIMARY KEY (pattern_key, event_id)
) STRICT, WITHOUT ROWID;

-- Runs whose text was removed, also when a segment still has them.
CREATE TABLE purged_runs (
    run_id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
