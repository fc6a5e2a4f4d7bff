-- The index: everything in it is computed from the events. A change of this file raises `INDEX_VERSION` in `schema.rs`;
-- an index of an earlier version is then emptied and computed again.

-- How far each event segment was read into this index.
CREATE TABLE segments (
    segment_no INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    indexed_bytes INTEGER NOT NULL CHECK (indexed_bytes >= 0),
    -- Hash of the last indexed bytes: another one means another file.
    mark TEXT NOT NULL,
    stamp TEXT NOT NULL DEFAULT ''
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
CREATE INDEX events_by_segment ON events (segment_no, start);

CREATE TABLE tasks (
    task_no INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    first_at TEXT NOT NULL,
    last_at TEXT NOT NULL,
    signature_hash TEXT,
    CHECK (first_at <= last_at)
) STRICT;
CREATE INDEX tasks_by_last_at ON tasks (last_at);

-- Paths and arguments are JSON: a string, or {"b64": …} where they aren't UTF-8.
CREATE TABLE runs (
    run_no INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    task_no INTEGER NOT NULL REFERENCES tasks,
    session TEXT,
    agent TEXT,
    model TEXT,
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
    class_key TEXT,
    own_status INTEGER NOT NULL DEFAULT 1 CHECK (own_status IN (0, 1)),
    selectors TEXT CHECK (json_valid(selectors)),
    phase TEXT CHECK (phase IN ('RED', 'GREEN', 'REFACTOR', 'DOCUMENT', 'QA')),
    CHECK ((exit_code IS NULL) <> (signal IS NULL))
) STRICT;
CREATE INDEX runs_by_root ON runs (root, ended_at);
-- What advice before an edit asks of hundreds of runs, without their rows.
CREATE INDEX runs_by_key ON runs (command_key, ended_at, passed, task_no);
-- With what tells whether a failure began with a run, which is asked of all runs of the newest tasks.
CREATE INDEX runs_by_task_and_time ON runs (task_no, started_at, passed, run_id, command_key, ended_at);
CREATE INDEX runs_by_class_and_time ON runs (class_key, passed, ended_at, command_key, branch);
CREATE INDEX passes_by_key ON runs (command_key, ended_at, branch, own_status) WHERE passed;
CREATE INDEX failed_runs_by_time ON runs (started_at) WHERE NOT passed;
CREATE INDEX failed_runs_by_session ON runs (session) WHERE NOT passed AND session IS NOT NULL;

CREATE TABLE failure_categories (
    name TEXT PRIMARY KEY,
    description TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE failures (
    failure_no INTEGER PRIMARY KEY,
    failure_id TEXT NOT NULL,
    run_id TEXT NOT NULL UNIQUE REFERENCES runs (run_id) ON DELETE CASCADE,
    category TEXT NOT NULL REFERENCES failure_categories (name),
    summary TEXT NOT NULL,
    item_count INTEGER NOT NULL CHECK (item_count >= 0),
    redactions INTEGER NOT NULL CHECK (redactions >= 0),
    lesson_id TEXT,
    lesson_file TEXT,
    no_lesson TEXT CHECK (no_lesson IN ('known', 'forgotten', 'cancelled')),
    -- Why no rate counts it: its result does not depend on the code, or everything in it is a proven flake.
    uncounted TEXT CHECK (uncounted IN ('cancelled', 'flaky')),
    CHECK ((lesson_id IS NULL) <> (no_lesson IS NULL)),
    CHECK ((lesson_id IS NULL) = (lesson_file IS NULL))
) STRICT;
CREATE INDEX failures_by_id ON failures (failure_id);
CREATE INDEX failures_by_lesson ON failures (lesson_id) WHERE lesson_id IS NOT NULL;
CREATE INDEX failures_by_category ON failures (category);
CREATE INDEX uncounted_failures ON failures (uncounted) WHERE uncounted IS NOT NULL;

CREATE TABLE failure_files (
    failure_no INTEGER NOT NULL REFERENCES "failures" ON DELETE CASCADE,
    path TEXT NOT NULL,
    PRIMARY KEY (failure_no, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX files_by_path ON failure_files (path);

CREATE TABLE patterns (
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
    -- Where it comes among equals, so that lists have one order whatever the row numbers are: of the key's hash.
    tie INTEGER NOT NULL,
    near_scope INTEGER,
    prevented INTEGER NOT NULL DEFAULT 0 CHECK (prevented >= 0),
    failed_anyway INTEGER NOT NULL DEFAULT 0 CHECK (failed_anyway >= 0),
    prevention_effectiveness REAL GENERATED ALWAYS AS (
    CASE WHEN prevented + failed_anyway = 0 THEN 0.5 ELSE 1.0 * prevented / (prevented + failed_anyway) END) VIRTUAL
    CHECK (prevention_effectiveness BETWEEN 0 AND 1),
    CHECK (first_seen <= last_seen)
) STRICT;
CREATE INDEX patterns_by_id ON patterns (pattern_id);
CREATE INDEX patterns_by_family ON patterns (family_key);
CREATE INDEX patterns_by_last_seen ON patterns (last_seen);
CREATE INDEX warned_patterns ON patterns (pattern_no) WHERE prevented + failed_anyway > 0;

CREATE TABLE occurrences (
    pattern_no INTEGER NOT NULL REFERENCES "patterns" ON DELETE CASCADE,
    failure_no INTEGER NOT NULL REFERENCES "failures" ON DELETE CASCADE,
    task_no INTEGER NOT NULL REFERENCES tasks,
    at TEXT NOT NULL,
    item_count INTEGER NOT NULL CHECK (item_count >= 1),
    -- The first item of this pattern in the run.
    file TEXT,
    line INTEGER CHECK (line >= 1),
    test TEXT,
    message TEXT NOT NULL,
    -- A proven flake of this failure: it counts for nothing.
    flaky INTEGER NOT NULL DEFAULT 0 CHECK (flaky IN (0, 1)),
    PRIMARY KEY (pattern_no, failure_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX occurrences_by_failure ON occurrences (failure_no, flaky, file);
CREATE INDEX occurrences_by_task ON occurrences (task_no, pattern_no, at, flaky);
CREATE INDEX occurrences_by_file ON occurrences (file, at) WHERE file IS NOT NULL;
CREATE INDEX occurrences_by_test ON occurrences (test, at) WHERE test IS NOT NULL;
-- In which tasks the patterns of a family were seen, without the rows: a family may have a sixth of all patterns.
CREATE INDEX tasks_of_patterns ON occurrences (pattern_no, task_no, flaky);

-- What was done to lessons after they were written.
CREATE TABLE lesson_changes (
    event_id TEXT PRIMARY KEY,
    lesson_id TEXT NOT NULL,
    change TEXT NOT NULL,
    at TEXT NOT NULL,
    author TEXT,
    -- What an annotation says first.
    why TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX changes_by_lesson ON lesson_changes (lesson_id);

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

-- The runs whose text an event repeats: it goes with any of them.
CREATE TABLE event_runs (
    event_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    PRIMARY KEY (event_id, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_runs_by_run ON event_runs (run_id);

-- A run of a check that had an open failure. The fix is named by the failure's key and its first failing run.
CREATE TABLE fix_attempts (
    event_id TEXT PRIMARY KEY,
    fix_id TEXT NOT NULL,
    command_key TEXT NOT NULL,
    root TEXT NOT NULL CHECK (json_valid(root)),
    run_id TEXT NOT NULL,
    opened_by TEXT NOT NULL,
    before_run TEXT NOT NULL,
    task TEXT NOT NULL,
    at TEXT NOT NULL,
    duration_us INTEGER NOT NULL CHECK (duration_us >= 0),
    outcome TEXT NOT NULL CHECK (outcome IN ('success', 'partial', 'failure')),
    means TEXT NOT NULL CHECK (means IN ('edit', 'command', 'none', 'unknown')),
    -- Whether both snapshots are what the runs saw; NULL without snapshots.
    exact INTEGER CHECK (exact IN (0, 1)),
    fixed INTEGER NOT NULL CHECK (fixed >= 0),
    introduced INTEGER NOT NULL CHECK (introduced >= 0),
    persisted INTEGER NOT NULL CHECK (persisted >= 0),
    not_reached INTEGER NOT NULL CHECK (not_reached >= 0),
    files INTEGER NOT NULL CHECK (files >= 0),
    lines_added INTEGER NOT NULL CHECK (lines_added >= 0),
    lines_removed INTEGER NOT NULL CHECK (lines_removed >= 0),
    -- Places where the check was made weaker.
    weakened INTEGER NOT NULL CHECK (weakened >= 0),
    undo INTEGER NOT NULL DEFAULT 0 CHECK (undo IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX attempts_by_fix ON fix_attempts (fix_id, at);
CREATE INDEX attempts_by_key ON fix_attempts (command_key, at);
CREATE INDEX attempts_by_run ON fix_attempts (run_id);
CREATE INDEX attempts_by_before ON fix_attempts (before_run);
CREATE INDEX attempts_by_opening ON fix_attempts (opened_by);

-- Keys as they were when the attempt was recorded.
CREATE TABLE attempt_patterns (
    event_id TEXT NOT NULL REFERENCES fix_attempts ON DELETE CASCADE,
    role TEXT NOT NULL CHECK (role IN ('fixed', 'introduced', 'persisted', 'not_reached')),
    pattern_key TEXT NOT NULL,
    PRIMARY KEY (event_id, role, pattern_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_patterns_by_key ON attempt_patterns (pattern_key, role);

CREATE TABLE attempt_files (
    event_id TEXT NOT NULL REFERENCES fix_attempts ON DELETE CASCADE,
    path TEXT NOT NULL,
    PRIMARY KEY (event_id, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_files_by_path ON attempt_files (path);

-- What makes a change the same as another task's.
CREATE TABLE attempt_recipes (
    event_id TEXT NOT NULL REFERENCES fix_attempts ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('shape', 'files', 'command')),
    recipe_key TEXT NOT NULL,
    label TEXT NOT NULL,
    PRIMARY KEY (event_id, kind, recipe_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_recipes_by_key ON attempt_recipes (recipe_key);

-- Two results from one tree.
CREATE TABLE flakes (
    event_id TEXT PRIMARY KEY,
    command_key TEXT NOT NULL,
    root TEXT NOT NULL CHECK (json_valid(root)),
    task TEXT NOT NULL,
    at TEXT NOT NULL,
    pass_run TEXT NOT NULL,
    fail_run TEXT NOT NULL,
    proof TEXT NOT NULL CHECK (proof IN ('proven', 'suspected')),
    why TEXT NOT NULL,
    atoms INTEGER NOT NULL CHECK (atoms >= 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX flakes_by_fail_run ON flakes (fail_run);

CREATE TABLE flake_patterns (
    event_id TEXT NOT NULL REFERENCES flakes ON DELETE CASCADE,
    pattern_key TEXT NOT NULL,
    PRIMARY KEY (event_id, pattern_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX flake_patterns_by_key ON flake_patterns (pattern_key);

CREATE TABLE fix_notes (
    event_id TEXT PRIMARY KEY,
    fix_id TEXT NOT NULL,
    at TEXT NOT NULL,
    cause TEXT,
    approach TEXT,
    rule TEXT,
    author TEXT,
    declined TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX notes_by_fix ON fix_notes (fix_id, at);

-- No reference to `runs`: segments come in any order.
CREATE TABLE snapshots (
    run_id TEXT PRIMARY KEY,
    event_id TEXT NOT NULL,
    at TEXT NOT NULL,
    -- The git tree, hex; its objects may be gone.
    tree TEXT,
    exact INTEGER NOT NULL CHECK (exact IN (0, 1)),
    -- A file changed between the run's end and the tree.
    late INTEGER NOT NULL CHECK (late IN (0, 1)),
    skipped TEXT,
    left_out INTEGER NOT NULL CHECK (left_out >= 0),
    -- What the files are compared with.
    base TEXT CHECK (base IN ('pass', 'head')),
    base_tree TEXT,
    base_run TEXT,
    file_count INTEGER NOT NULL CHECK (file_count >= 0),
    unavailable TEXT,
    CHECK ((tree IS NULL) <> (skipped IS NULL)),
    CHECK ((base IS NULL) = (base_tree IS NULL)),
    CHECK (exact = 0 OR tree IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE INDEX snapshots_by_tree ON snapshots (tree) WHERE tree IS NOT NULL;

-- Checks that passed on exactly one tree. No reference to `runs`, as above.
CREATE TABLE receipts (
    event_id TEXT PRIMARY KEY,
    receipt_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    -- Only one's own receipts are reused.
    writer TEXT NOT NULL,
    root TEXT NOT NULL CHECK (json_valid(root)),
    command_key TEXT NOT NULL,
    -- Digest of the folder and the words of the command.
    command TEXT NOT NULL,
    tree TEXT NOT NULL,
    ended_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX receipts_by_command ON receipts (command, ended_at);
CREATE INDEX receipts_by_root ON receipts (root, ended_at);

-- Receipts with a signature. Which key signed is read from the envelope, in the event.
CREATE TABLE signed_receipts (
    event_id TEXT PRIMARY KEY,
    receipt_id TEXT NOT NULL,
    -- SHA-256 of the folder and the words of the command.
    command TEXT NOT NULL,
    tree TEXT NOT NULL,
    ended_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX signed_receipts_by_command ON signed_receipts (command, ended_at);
CREATE INDEX signed_receipts_by_receipt ON signed_receipts (receipt_id);

-- Files that differ from the base, as text.
CREATE TABLE snapshot_files (
    run_id TEXT NOT NULL REFERENCES snapshots ON DELETE CASCADE,
    path TEXT NOT NULL,
    change TEXT NOT NULL CHECK (change IN ('added', 'removed', 'modified', 'renamed', 'retyped')),
    added INTEGER NOT NULL CHECK (added >= 0),
    removed INTEGER NOT NULL CHECK (removed >= 0),
    PRIMARY KEY (run_id, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX snapshot_files_by_path ON snapshot_files (path);

-- The fingerprint's version with which the keys in this index were computed; one row. Another one: rebuilt.
CREATE TABLE computed_with (
    fingerprint INTEGER NOT NULL
) STRICT;

-- A pattern's MinHash sketch, 24 rows each: without a foreign key, whose check would cost as much as the row.
CREATE TABLE near_bands (
    band INTEGER NOT NULL,
    pattern_no INTEGER NOT NULL,
    PRIMARY KEY (band, pattern_no)
) STRICT, WITHOUT ROWID;

-- Keys that events have from other versions of the fingerprint, and the patterns that have those failures now.
CREATE TABLE recorded_keys (
    recorded_key TEXT NOT NULL,
    pattern_no INTEGER NOT NULL REFERENCES "patterns" ON DELETE CASCADE,
    recorded_id TEXT NOT NULL,
    PRIMARY KEY (recorded_key, pattern_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX recorded_by_pattern ON recorded_keys (pattern_no);
CREATE INDEX recorded_by_id ON recorded_keys (recorded_id);

-- Keys, not numbers: a merge may come before its patterns, and name a key of another version.
CREATE TABLE pattern_merges (
    event_id TEXT PRIMARY KEY,
    at TEXT NOT NULL,
    from_key TEXT NOT NULL,
    into_key TEXT NOT NULL,
    by TEXT,
    similarity_permille INTEGER CHECK (similarity_permille BETWEEN 0 AND 1000),
    why TEXT,
    automatic INTEGER NOT NULL CHECK (automatic IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX merges_by_from ON pattern_merges (from_key);
CREATE INDEX merges_by_into ON pattern_merges (into_key);

CREATE TABLE pattern_splits (
    event_id TEXT PRIMARY KEY,
    at TEXT NOT NULL,
    pattern_key TEXT NOT NULL,
    by TEXT,
    why TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX splits_by_key ON pattern_splits (pattern_key);

CREATE TABLE pattern_reviews (
    event_id TEXT PRIMARY KEY,
    at TEXT NOT NULL,
    pattern_key TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('muted', 'unmuted', 'deprecated', 'restored')),
    by TEXT,
    why TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX reviews_by_key ON pattern_reviews (pattern_key);

-- The groups of two patterns and more that the merges make. The leader is the member with the most failures, then the
-- one that was seen first; it has a row too.
CREATE TABLE pattern_groups (
    pattern_no INTEGER PRIMARY KEY REFERENCES "patterns" ON DELETE CASCADE,
    leader_no INTEGER NOT NULL REFERENCES "patterns" ON DELETE CASCADE
) STRICT;
CREATE INDEX groups_by_leader ON pattern_groups (leader_no);

CREATE TABLE strategies (
    strategy_no INTEGER PRIMARY KEY,
    -- Short ids may meet: none of them is a key.
    strategy_id TEXT NOT NULL,
    -- What `error_pattern` is.
    match TEXT NOT NULL CHECK (match IN ('pattern', 'substring', 'regex')),
    -- A pattern's key as it was when it was tried: `known_patterns` says whose that is now.
    error_pattern TEXT NOT NULL CHECK (error_pattern <> ''),
    -- How it is done: of what was learnt `shape`, `files` or `command`.
    technique TEXT NOT NULL CHECK (technique <> ''),
    -- What makes it the same in another task.
    recipe_key TEXT NOT NULL,
    label TEXT NOT NULL,
    -- The event that gave the label: the one with the smallest id.
    described_by TEXT NOT NULL,
    -- Kept by the triggers below.
    successes INTEGER NOT NULL DEFAULT 0 CHECK (successes >= 0),
    failures INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
    partials INTEGER NOT NULL DEFAULT 0 CHECK (partials >= 0),
    effectiveness REAL NOT NULL GENERATED ALWAYS AS (
        CASE WHEN successes + failures + partials = 0 THEN 0.5
             ELSE (successes + 0.5 * partials) / (successes + failures + partials) END) STORED
        CHECK (effectiveness BETWEEN 0 AND 1),
    steps TEXT CHECK (json_valid(steps)),
    UNIQUE (match, error_pattern, technique, recipe_key)
) STRICT;
CREATE INDEX strategies_by_id ON strategies (strategy_id);
CREATE INDEX strategies_by_error ON strategies (error_pattern);

CREATE TABLE strategy_tries (
    strategy_no INTEGER NOT NULL REFERENCES "strategies" ON DELETE CASCADE,
    event_id TEXT NOT NULL REFERENCES events ON DELETE CASCADE,
    -- The run that showed it; NULL where somebody says so.
    run_id TEXT,
    task TEXT NOT NULL,
    at TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('success', 'failure', 'partial')),
    -- What is known by now: a flake seemed to be solved; one run closed a failure under several commands and counts
    -- once; the pattern was back in the same task.
    discounted TEXT CHECK (discounted IN ('flaky', 'repeated', 'recurred')),
    counts_as TEXT GENERATED ALWAYS AS (
        CASE WHEN discounted IN ('flaky', 'repeated') THEN NULL
             WHEN discounted = 'recurred' THEN 'failure' ELSE outcome END) STORED,
    PRIMARY KEY (strategy_no, event_id),
    CHECK (discounted IS NOT 'recurred' OR outcome = 'success')
) STRICT, WITHOUT ROWID;
CREATE INDEX strategy_attempts_by_event ON strategy_tries (event_id);
CREATE INDEX strategy_attempts_by_run ON strategy_tries (run_id);
CREATE INDEX strategy_attempts_by_task ON strategy_tries (task, at);

-- A table, not a check: people may have types of their own.
CREATE TABLE knowledge_types (
    name TEXT PRIMARY KEY,
    description TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE entries (
    entry_no INTEGER PRIMARY KEY,
    entry_id TEXT NOT NULL,
    type TEXT NOT NULL REFERENCES knowledge_types,
    -- A key as it was recorded; NULL of what is about no pattern.
    pattern_key TEXT,
    event_id TEXT,
    title TEXT,
    properties TEXT CHECK (json_valid(properties)),
    globs TEXT CHECK (json_valid(globs)),
    actions TEXT CHECK (json_valid(actions)),
    tags TEXT CHECK (json_valid(tags)),
    sources TEXT CHECK (json_valid(sources)),
    source TEXT CHECK (source IN ('human', 'check', 'agent')),
    prevented INTEGER CHECK (prevented IN (0, 1)),
    fix_applied INTEGER CHECK (fix_applied IN (0, 1)),
    at TEXT,
    agent TEXT,
    session TEXT,
    task TEXT,
    person TEXT,
    forms TEXT,
    leader_id TEXT,
    UNIQUE (entry_id, pattern_key)
) STRICT;
CREATE INDEX knowledge_by_pattern ON entries (pattern_key);
CREATE UNIQUE INDEX knowledge_by_id ON entries (entry_id) WHERE event_id IS NOT NULL;
CREATE INDEX knowledge_by_any_id ON entries (entry_id);
CREATE INDEX knowledge_by_leader ON entries (leader_id) WHERE event_id IS NOT NULL;
CREATE INDEX knowledge_by_time ON entries (at DESC, entry_id) WHERE event_id IS NOT NULL;
CREATE INDEX entries_by_task ON entries (task) WHERE event_id IS NOT NULL AND task IS NOT NULL;

-- What was said of tasks. One that nobody announced has none.
CREATE TABLE task_changes (
    event_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    at TEXT NOT NULL,
    change TEXT NOT NULL CHECK (change IN ('started', 'done')),
    title TEXT,
    category TEXT,
    depends_on TEXT NOT NULL CHECK (json_valid(depends_on)),
    outcome TEXT CHECK (outcome IN ('completed', 'failed', 'abandoned')),
    why TEXT,
    session TEXT,
    agent TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX task_changes_by_name ON task_changes (name, at);
CREATE INDEX task_changes_by_session ON task_changes (session, at);

-- Files that a task is going to touch, as it was announced.
CREATE TABLE task_files (
    event_id TEXT NOT NULL REFERENCES task_changes ON DELETE CASCADE,
    path TEXT NOT NULL,
    PRIMARY KEY (event_id, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_files_by_path ON task_files (path);

-- Words of tasks' names and titles.
CREATE VIRTUAL TABLE task_words USING fts5(name, title, content='', contentless_delete=1);

CREATE TABLE deliveries (
    event_id TEXT PRIMARY KEY,
    warning_id TEXT NOT NULL,
    task_no INTEGER NOT NULL REFERENCES tasks,
    session TEXT NOT NULL,
    agent TEXT,
    pattern_key TEXT,
    entry_id TEXT,
    family_key TEXT NOT NULL,
    rank INTEGER NOT NULL CHECK (rank >= 1),
    score REAL NOT NULL CHECK (score BETWEEN 0 AND 1),
    arm TEXT NOT NULL CHECK (arm IN ('shown', 'holdout', 'gate')),
    holdout_share REAL NOT NULL CHECK (holdout_share BETWEEN 0 AND 1),
    surface TEXT NOT NULL,
    command TEXT,
    files TEXT NOT NULL CHECK (json_valid(files)),
    delivered_at TEXT NOT NULL,
    failed_in TEXT,
    passed_in TEXT,
    outcome TEXT GENERATED ALWAYS AS (
    CASE WHEN failed_in IS NOT NULL THEN 'failed_anyway' WHEN passed_in IS NOT NULL THEN 'prevented' END) VIRTUAL,
    text TEXT,
    CHECK ((pattern_key IS NULL) <> (entry_id IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_by_warning ON deliveries (warning_id);
CREATE INDEX deliveries_by_task ON deliveries (task_no, family_key);
CREATE INDEX deliveries_by_entry ON deliveries (entry_id);
CREATE INDEX deliveries_by_family ON deliveries (family_key, delivered_at);
CREATE INDEX deliveries_by_arm ON deliveries (arm, outcome);
CREATE INDEX deliveries_that_failed ON deliveries (family_key) WHERE failed_in IS NOT NULL;
CREATE INDEX deliveries_by_pattern ON deliveries (pattern_key);
CREATE INDEX judged_deliveries_by_pattern ON deliveries (pattern_key, arm, failed_in, passed_in)
     WHERE failed_in IS NOT NULL OR passed_in IS NOT NULL;
CREATE INDEX judged_deliveries_by_entry ON deliveries (entry_id)
     WHERE failed_in IS NOT NULL OR passed_in IS NOT NULL;

-- The latest of each person holds.
CREATE TABLE warning_acks (
    event_id TEXT PRIMARY KEY,
    warning_id TEXT NOT NULL,
    at TEXT NOT NULL,
    useful INTEGER CHECK (useful IN (0, 1)),
    agent TEXT,
    person TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX acks_by_warning ON warning_acks (warning_id, at);

-- Where patterns happen and under which check, for advice: the folder (`d:src/db`), the kind of file (`e:py`), the tool
-- class (`t:pytest`) of each failure that has the pattern.
CREATE TABLE pattern_places (
    place TEXT NOT NULL,
    pattern_no INTEGER NOT NULL REFERENCES "patterns" ON DELETE CASCADE,
    failures INTEGER NOT NULL CHECK (failures >= 1),
    PRIMARY KEY (place, pattern_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX places_by_failures ON pattern_places (place, failures);
CREATE INDEX places_by_pattern ON pattern_places (pattern_no);

-- Words of patterns' messages.
CREATE VIRTUAL TABLE pattern_words USING fts5(
    masked, family, code, content='', contentless_delete=1, tokenize="unicode61 tokenchars '_'");

CREATE VIRTUAL TABLE pattern_vocabulary USING fts5vocab('pattern_words', 'row');

-- Where a pattern was seen: a check that looks there shows whether it is gone.
CREATE TABLE pattern_checks (
    pattern_no INTEGER NOT NULL REFERENCES "patterns" ON DELETE CASCADE,
    class_key TEXT NOT NULL,
    dir TEXT NOT NULL CHECK (json_valid(dir)),
    selectors TEXT NOT NULL CHECK (json_valid(selectors)),
    PRIMARY KEY (pattern_no, class_key, dir, selectors)
) STRICT, WITHOUT ROWID;

-- What an entry is found by: a tag, an action, a source, or the place of one of its globs (`src/db|py`: the folder before
-- the first wildcard, and the ending of its files or `*`).
CREATE TABLE knowledge_labels (
    kind TEXT NOT NULL CHECK (kind IN ('tag', 'action', 'source', 'place')),
    value TEXT NOT NULL,
    entry_no INTEGER NOT NULL REFERENCES "entries" ON DELETE CASCADE,
    PRIMARY KEY (kind, value, entry_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_by_entry ON knowledge_labels (entry_no);

-- What was said of entries later. The entry may come after it.
CREATE TABLE knowledge_changes (
    event_id TEXT PRIMARY KEY,
    entry_id TEXT NOT NULL,
    at TEXT NOT NULL,
    change TEXT NOT NULL CHECK (change IN ('superseded', 'confidence_set', 'pinned', 'unpinned', 'merged')),
    value REAL CHECK (value BETWEEN 0 AND 1),
    other_id TEXT,
    reason TEXT,
    agent TEXT,
    session TEXT,
    task TEXT,
    person TEXT,
    CHECK ((change = 'confidence_set') = (value IS NOT NULL)),
    CHECK ((change IN ('superseded', 'merged')) = (other_id IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX knowledge_changes_by_entry ON knowledge_changes (entry_id, change, at);
CREATE INDEX knowledge_changes_by_other ON knowledge_changes (other_id, change) WHERE other_id IS NOT NULL;

CREATE TABLE entry_uses (
    event_id TEXT NOT NULL,
    entry_id TEXT NOT NULL,
    at TEXT NOT NULL,
    how TEXT NOT NULL CHECK (how IN ('queried', 'retrieved', 'applied', 'validated', 'prevented', 'did_not_help')),
    agent TEXT,
    session TEXT,
    task TEXT,
    person TEXT,
    PRIMARY KEY (event_id, entry_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX reuse_by_entry ON entry_uses (entry_id, at);
CREATE INDEX reuse_by_time ON entry_uses (at);
CREATE INDEX uses_by_task ON entry_uses (task) WHERE how IN ('applied', 'validated', 'prevented');

-- Words of entries, and their normal forms.
CREATE VIRTUAL TABLE knowledge_words USING fts5(
    title, tags, body, forms, content='', contentless_delete=1, tokenize="unicode61 tokenchars '_'");

CREATE VIRTUAL TABLE knowledge_vocabulary USING fts5vocab('knowledge_words', 'row');

-- Attempts that somebody tells of. The strategy may come after them.
CREATE TABLE strategy_reports (
    event_id TEXT PRIMARY KEY REFERENCES events ON DELETE CASCADE,
    strategy_id TEXT NOT NULL,
    at TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('success', 'failure', 'partial')),
    category TEXT,
    file_type TEXT,
    note TEXT,
    agent TEXT,
    session TEXT,
    task TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX reports_by_strategy ON strategy_reports (strategy_id, at);

-- What agents remember.
CREATE TABLE agent_memory (
    memory_id TEXT PRIMARY KEY,
    event_id TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('context', 'learning', 'preference', 'error_pattern', 'success_pattern')),
    text TEXT NOT NULL,
    importance REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
    at TEXT NOT NULL,
    expires_at TEXT,
    agent TEXT,
    session TEXT,
    task TEXT,
    person TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_by_agent ON agent_memory (agent, at);
CREATE INDEX memory_by_task ON agent_memory (task, at);

-- What was said of memories later. The memory may come after it.
CREATE TABLE memory_changes (
    event_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    at TEXT NOT NULL,
    change TEXT NOT NULL CHECK (change IN ('recalled', 'validated', 'promoted')),
    entry_id TEXT,
    agent TEXT,
    session TEXT,
    PRIMARY KEY (event_id, memory_id),
    CHECK ((change = 'promoted') = (entry_id IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_changes_by_memory ON memory_changes (memory_id, change, at);

-- Steps of the quality gate, whole: its state is computed from them in order.
CREATE TABLE gate_steps (
    event_id TEXT PRIMARY KEY,
    work_tree TEXT NOT NULL,
    evaluation TEXT NOT NULL,
    cycle TEXT NOT NULL,
    step TEXT NOT NULL,
    at TEXT NOT NULL,
    body TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX gate_steps_of_work_tree ON gate_steps (work_tree, at, event_id);
CREATE INDEX gate_steps_of_evaluation ON gate_steps (evaluation);

-- What was said of the phases of tasks.
CREATE TABLE phase_notes (
    event_id TEXT PRIMARY KEY,
    work_tree TEXT NOT NULL CHECK (json_valid(work_tree)),
    task TEXT NOT NULL,
    step TEXT NOT NULL CHECK (step IN ('began', 'ended', 'reset')),
    phase TEXT CHECK (phase IN ('RED', 'GREEN', 'REFACTOR', 'DOCUMENT', 'QA')),
    at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX phase_notes_by_task ON phase_notes (work_tree, task, at);
-- Steps of the jobs of the learning pipeline, whole: the state of a job is computed from them in order.
CREATE TABLE learn_steps (
    event_id TEXT PRIMARY KEY,
    job_id TEXT NOT NULL,
    step TEXT NOT NULL,
    -- The state that it leads to; NULL of a step within a state.
    state TEXT,
    at TEXT NOT NULL,
    -- Only what this machine recorded itself is ever run.
    writer TEXT NOT NULL,
    -- Of a harvest.
    task TEXT,
    fix_id TEXT,
    -- The library page that it is about.
    artifact_id TEXT,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX learn_steps_of_job ON learn_steps (job_id, at, event_id);
CREATE INDEX learn_steps_of_fix ON learn_steps (fix_id, job_id) WHERE fix_id IS NOT NULL;
-- Of thousands of jobs about one fix few are proven.
CREATE INDEX learn_steps_proven ON learn_steps (job_id) WHERE step = 'judged' AND body ->> 'evidence' = 'proven';
CREATE INDEX learn_steps_of_artifact ON learn_steps (artifact_id) WHERE artifact_id IS NOT NULL;

-- The state of every job: what its last step led to. Imported steps count only until this store records one itself.
CREATE TABLE learn_jobs (
    job_id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    first_at TEXT NOT NULL,
    -- Of the step that led to the state, with the event.
    at TEXT NOT NULL,
    event_id TEXT NOT NULL,
    is_own INTEGER NOT NULL CHECK (is_own IN (0, 1)),
    -- Of its harvest, for the order of the queue: where it was, and how new and how frequent its failure is.
    root TEXT CHECK (json_valid(root)),
    is_known INTEGER NOT NULL DEFAULT 0 CHECK (is_known IN (0, 1)),
    tasks INTEGER NOT NULL DEFAULT 0,
    is_new_family INTEGER NOT NULL DEFAULT 0 CHECK (is_new_family IN (0, 1)),
    is_own_harvest INTEGER NOT NULL DEFAULT 0 CHECK (is_own_harvest IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX learn_jobs_by_state ON learn_jobs (state, at);
CREATE INDEX learn_jobs_in_order
    ON learn_jobs (state, root, is_known, tasks DESC, is_new_family DESC, first_at, job_id, at);
CREATE INDEX learn_jobs_by_time ON learn_jobs (at DESC, job_id);

-- The shapes of the changed lines of a harvest: the same shape is the same change in another task.
CREATE TABLE learn_shapes (
    shape_key TEXT NOT NULL,
    job_id TEXT NOT NULL,
    event_id TEXT NOT NULL REFERENCES learn_steps ON DELETE CASCADE,
    PRIMARY KEY (shape_key, job_id, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX learn_shapes_of_event ON learn_shapes (event_id);

-- Steps of the pages of the pattern library.
CREATE TABLE library_steps (
    event_id TEXT PRIMARY KEY,
    artifact_id TEXT NOT NULL,
    step TEXT NOT NULL,
    at TEXT NOT NULL,
    -- Only approvals of accepted writers count.
    writer TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX library_steps_of_artifact ON library_steps (artifact_id, at, event_id);

-- What was said of promotions.
CREATE TABLE promotion_changes (
    event_id TEXT PRIMARY KEY,
    promotion_id TEXT NOT NULL,
    pattern_key TEXT,
    entry_id TEXT,
    at TEXT NOT NULL,
    change TEXT NOT NULL CHECK (change IN ('proposed', 'approved', 'rejected', 'rolled_back', 'retirement_proposed')),
    strong INTEGER CHECK (strong IN (0, 1)),
    reason TEXT NOT NULL,
    person TEXT,
    agent TEXT,
    target TEXT,
    before TEXT,
    after TEXT,
    CHECK ((pattern_key IS NULL) <> (entry_id IS NULL)),
    -- Nothing is approved, rejected or taken back by nobody.
    CHECK (change IN ('proposed', 'retirement_proposed') OR person <> '' AND person IS NOT NULL AND reason <> ''),
    CHECK ((change = 'approved') = (target IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX promotion_changes_by_promotion ON promotion_changes (promotion_id, at);
CREATE INDEX promotion_changes_by_pattern ON promotion_changes (pattern_key);
CREATE INDEX promotion_changes_by_entry ON promotion_changes (entry_id);

-- The patterns that a noted fix made go away, under the keys that its attempts recorded.
CREATE TABLE note_patterns (
    pattern_key TEXT NOT NULL,
    event_id TEXT NOT NULL REFERENCES fix_notes ON DELETE CASCADE,
    PRIMARY KEY (pattern_key, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX note_patterns_by_note ON note_patterns (event_id);

CREATE TABLE withdrawn_lessons (
    run_id TEXT NOT NULL PRIMARY KEY,
    fix_id TEXT
) STRICT, WITHOUT ROWID;

-- The state of a work tree's shared lessons when all of them had been read.
CREATE TABLE shared_lesson_roots (
    root TEXT NOT NULL PRIMARY KEY CHECK (json_valid(root)),
    stamp TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per file; without a lesson when it can't be read, without an entry when it says nothing that isn't known here.
CREATE TABLE shared_lesson_files (
    root TEXT NOT NULL,
    path TEXT NOT NULL,
    stamp TEXT NOT NULL,
    lesson_id TEXT,
    entry_id TEXT,
    event_id TEXT,
    PRIMARY KEY (root, path),
    CHECK ((entry_id IS NULL) = (event_id IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX shared_lessons_by_entry ON shared_lesson_files (entry_id) WHERE entry_id IS NOT NULL;
CREATE INDEX shared_lessons_by_event ON shared_lesson_files (event_id) WHERE event_id IS NOT NULL;

-- The patterns that a shared lesson is about, by their ids.
CREATE TABLE shared_lesson_patterns (
    root TEXT NOT NULL,
    path TEXT NOT NULL,
    pattern_id TEXT NOT NULL,
    PRIMARY KEY (root, pattern_id, path),
    FOREIGN KEY (root, path) REFERENCES shared_lesson_files ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX shared_lesson_patterns_by_file ON shared_lesson_patterns (root, path);

-- Sums, changed in the transaction of the event that changes what they count. A day is the UTC day on which a run was
-- started, as a number since 1970-01-01.

-- What the sums repeat, by number: agents, tools, categories. '' where it isn't known; the tool of a run that isn't a
-- recognised check is '' too.
CREATE TABLE names (
    name_no INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- `uncounted` are neither passed nor failed: cancelled runs, proven flakes, passes of a weakened check.
CREATE TABLE run_days (
    day INTEGER NOT NULL,
    task_no INTEGER NOT NULL,
    agent_no INTEGER NOT NULL,
    tool_no INTEGER NOT NULL,
    runs INTEGER NOT NULL CHECK (runs >= 1),
    failed INTEGER NOT NULL CHECK (failed >= 0),
    uncounted INTEGER NOT NULL CHECK (uncounted >= 0),
    PRIMARY KEY (day, task_no, agent_no, tool_no),
    CHECK (failed + uncounted <= runs)
) STRICT, WITHOUT ROWID;

-- Failures that count.
CREATE TABLE failure_days (
    day INTEGER NOT NULL,
    task_no INTEGER NOT NULL,
    category_no INTEGER NOT NULL,
    agent_no INTEGER NOT NULL,
    tool_no INTEGER NOT NULL,
    failures INTEGER NOT NULL CHECK (failures >= 1),
    PRIMARY KEY (day, task_no, category_no, agent_no, tool_no)
) STRICT, WITHOUT ROWID;

-- The first run of each check in each task: the smallest (started_at, run_id).
CREATE TABLE first_runs (
    task_no INTEGER NOT NULL,
    command_key TEXT NOT NULL,
    run_no INTEGER NOT NULL,
    PRIMARY KEY (task_no, command_key)
) STRICT, WITHOUT ROWID;

-- Those of them that count.
CREATE TABLE first_run_days (
    day INTEGER NOT NULL,
    agent_no INTEGER NOT NULL,
    tool_no INTEGER NOT NULL,
    runs INTEGER NOT NULL CHECK (runs >= 1),
    passed INTEGER NOT NULL CHECK (passed BETWEEN 0 AND runs),
    PRIMARY KEY (day, agent_no, tool_no)
) STRICT, WITHOUT ROWID;

-- When a check passed last on a branch, '' where that isn't known, by a run whose status is its own; and when an attempt
-- last showed that its failure is gone.
CREATE TABLE last_passes (
    command_key TEXT NOT NULL,
    branch TEXT NOT NULL,
    ended_at TEXT NOT NULL,
    PRIMARY KEY (command_key, branch)
) STRICT, WITHOUT ROWID;
CREATE TABLE last_solutions (
    command_key TEXT PRIMARY KEY,
    at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The failures that came after both: few, since every fix ends all earlier ones of its check.
CREATE TABLE open_failures (
    command_key TEXT NOT NULL,
    ended_at TEXT NOT NULL,
    failure_no INTEGER NOT NULL,
    branch TEXT NOT NULL,
    PRIMARY KEY (command_key, ended_at, failure_no)
) STRICT, WITHOUT ROWID;

-- A fix with all its attempts, and who failed first: what `fix_states` says of it, without looking at them.
CREATE TABLE fix_figures (
    fix_id TEXT PRIMARY KEY,
    last_at TEXT NOT NULL,
    resolved_at TEXT,
    state TEXT NOT NULL CHECK (state IN ('success', 'weakened', 'undone', 'flaky', 'partial', 'failure')),
    -- What was fixed is a proven flake of one of its failing runs.
    suspect INTEGER NOT NULL CHECK (suspect IN (0, 1)),
    attempts INTEGER NOT NULL CHECK (attempts >= 0),
    category_no INTEGER NOT NULL,
    agent_no INTEGER NOT NULL,
    tool_no INTEGER NOT NULL,
    -- From the start of the first failing run to the pass.
    seconds INTEGER
) STRICT, WITHOUT ROWID;
-- Fixes whose figures are computed at the end of the transaction: empty between transactions.
CREATE TABLE stale_fixes (
    fix_id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
CREATE INDEX fixes_by_last_at ON fix_figures (last_at DESC, fix_id);
CREATE INDEX solved_fixes ON fix_figures (resolved_at, suspect, category_no, agent_no, tool_no, attempts, seconds)
    WHERE state = 'success';
CREATE INDEX weakened_fixes ON fix_figures (resolved_at) WHERE state = 'weakened';

-- The fixes in which a pattern was tried, of those that count: weakened, undone and flaky ones don't. Keys as they were
-- recorded.
CREATE TABLE pattern_fixes (
    pattern_key TEXT NOT NULL,
    fix_id TEXT NOT NULL,
    -- It made the pattern go away.
    fixed INTEGER NOT NULL CHECK (fixed IN (0, 1)),
    PRIMARY KEY (pattern_key, fix_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX pattern_fixes_by_fix ON pattern_fixes (fix_id);

-- Failures of a pattern and those that are counted with it, under the one that represents them. Proven flakes are left
-- out, here and below.
CREATE TABLE pattern_days (
    day INTEGER NOT NULL,
    pattern_no INTEGER NOT NULL,
    category_no INTEGER NOT NULL,
    agent_no INTEGER NOT NULL,
    tool_no INTEGER NOT NULL,
    failures INTEGER NOT NULL CHECK (failures >= 1),
    PRIMARY KEY (day, pattern_no, category_no, agent_no, tool_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX agents_of_patterns ON pattern_days (pattern_no, agent_no, failures);

CREATE TABLE pattern_figures (
    pattern_no INTEGER PRIMARY KEY,
    -- The most frequent one.
    category_no INTEGER NOT NULL,
    failures INTEGER NOT NULL CHECK (failures >= 0),
    -- Distinct ones.
    tasks INTEGER NOT NULL CHECK (tasks >= 0),
    -- Failures in which it was a proven flake.
    flaky INTEGER NOT NULL CHECK (flaky >= 0),
    tie INTEGER NOT NULL,
    -- Fixes in which it was tried, and those that made it go away: of `pattern_fixes`.
    tried INTEGER NOT NULL CHECK (tried >= 0),
    fixed INTEGER NOT NULL CHECK (fixed BETWEEN 0 AND tried)
) STRICT;
CREATE INDEX pattern_figures_by_category ON pattern_figures (category_no, failures DESC, tie);
CREATE INDEX pattern_figures_by_tasks ON pattern_figures (tasks DESC, failures DESC, tie);

-- Tasks in which a pattern was seen first after another task had seen it.
CREATE TABLE comebacks (
    task_no INTEGER NOT NULL,
    pattern_no INTEGER NOT NULL,
    PRIMARY KEY (task_no, pattern_no)
) STRICT, WITHOUT ROWID;

-- The tasks in which the fix of a learnt gotcha helped, where those are several.
CREATE TABLE helped_tasks (
    entry_id TEXT NOT NULL,
    task TEXT NOT NULL,
    PRIMARY KEY (entry_id, task)
) STRICT, WITHOUT ROWID;

-- `tries` of strategies that count, those that `helped`, `learnt` gotchas, and `patterns` that stand for themselves or
-- for their groups.
CREATE TABLE totals (
    name TEXT PRIMARY KEY CHECK (name IN ('tries', 'helped', 'learnt', 'patterns')),
    value INTEGER NOT NULL DEFAULT 0 CHECK (value >= 0)
) STRICT, WITHOUT ROWID;
INSERT INTO totals (name) VALUES ('tries'), ('helped'), ('learnt'), ('patterns');

-- Every pattern with the one that stands for it, itself mostly.
CREATE VIEW pattern_leaders AS
    SELECT pattern_no, coalesce(leader_no, pattern_no) AS leader_no
    FROM "patterns" LEFT JOIN pattern_groups USING (pattern_no);

-- Any key that an event may have, and the patterns that have it now.
CREATE VIEW known_patterns AS
     SELECT pattern_key AS recorded_key, pattern_no FROM "patterns"
     UNION ALL SELECT recorded_key, pattern_no FROM recorded_keys;

CREATE TRIGGER strategy_tried AFTER INSERT ON "strategy_tries" WHEN NEW.counts_as IS NOT NULL BEGIN
    UPDATE "strategies" SET successes = successes + (NEW.counts_as = 'success'),
        failures = failures + (NEW.counts_as = 'failure'), partials = partials + (NEW.counts_as = 'partial')
    WHERE strategy_no = NEW.strategy_no;
    UPDATE totals SET value = value + (name = 'tries' OR NEW.counts_as = 'success') WHERE name IN ('tries', 'helped');
END;

CREATE TRIGGER strategy_judged AFTER UPDATE ON "strategy_tries" WHEN NEW.counts_as IS NOT OLD.counts_as BEGIN
    UPDATE "strategies" SET
        successes = successes + (NEW.counts_as IS 'success') - (OLD.counts_as IS 'success'),
        failures = failures + (NEW.counts_as IS 'failure') - (OLD.counts_as IS 'failure'),
        partials = partials + (NEW.counts_as IS 'partial') - (OLD.counts_as IS 'partial')
    WHERE strategy_no = NEW.strategy_no;
    UPDATE totals SET value = value + CASE name
        WHEN 'tries' THEN (NEW.counts_as IS NOT NULL) - (OLD.counts_as IS NOT NULL)
        ELSE (NEW.counts_as IS 'success') - (OLD.counts_as IS 'success') END
    WHERE name IN ('tries', 'helped');
END;

CREATE TRIGGER strategy_taken_back AFTER DELETE ON "strategy_tries" WHEN OLD.counts_as IS NOT NULL BEGIN
    UPDATE "strategies" SET successes = successes - (OLD.counts_as = 'success'),
        failures = failures - (OLD.counts_as = 'failure'), partials = partials - (OLD.counts_as = 'partial')
    WHERE strategy_no = OLD.strategy_no;
    UPDATE totals SET value = value - (name = 'tries' OR OLD.counts_as = 'success') WHERE name IN ('tries', 'helped');
END;

CREATE TRIGGER gotcha_learnt AFTER INSERT ON entries WHEN NEW.event_id IS NULL BEGIN
    UPDATE totals SET value = value + 1 WHERE name = 'learnt';
END;

CREATE TRIGGER pattern_counted AFTER INSERT ON pattern_figures BEGIN
    UPDATE totals SET value = value + 1 WHERE name = 'patterns';
END;

CREATE TRIGGER pattern_merged AFTER DELETE ON pattern_figures BEGIN
    UPDATE totals SET value = value - 1 WHERE name = 'patterns';
END;

-- A failure is resolved when a later run of its check, or of one that covers it, found nothing of it any more.
CREATE VIEW failure_resolutions AS
SELECT f.failure_id, f.run_id, a.fix_id, a.run_id AS resolved_by, min(a.at) AS resolved_at
FROM "failures" f JOIN runs r USING (run_id)
JOIN fix_attempts a ON a.command_key = r.command_key AND a.outcome = 'success' AND a.weakened = 0
                   AND a.at >= r.ended_at
GROUP BY f.failure_no;

-- Whichever is read first.
CREATE TRIGGER fix_noted AFTER INSERT ON fix_notes BEGIN
    INSERT OR IGNORE INTO note_patterns
    SELECT p.pattern_key, NEW.event_id FROM fix_attempts a CROSS JOIN attempt_patterns p ON p.event_id = a.event_id
    WHERE a.fix_id = NEW.fix_id AND p.role = 'fixed';
END;

CREATE TRIGGER noted_fix AFTER INSERT ON attempt_patterns WHEN NEW.role = 'fixed' BEGIN
    INSERT OR IGNORE INTO note_patterns
    SELECT NEW.pattern_key, n.event_id FROM fix_attempts a CROSS JOIN fix_notes n ON n.fix_id = a.fix_id
    WHERE a.event_id = NEW.event_id;
END;

CREATE VIEW imported_events AS
SELECT event_id FROM events JOIN segments USING (segment_no) WHERE substr(name, 1, 9) = 'imported.'
UNION ALL SELECT event_id FROM shared_lesson_files WHERE event_id IS NOT NULL;

-- A fix with all its attempts.
CREATE VIEW fix_states AS
SELECT fix_id, command_key, a.root, opened_by,
       min(at) AS first_at,
       max(at) AS last_at,
       count(DISTINCT a.run_id) FILTER (WHERE means <> 'none') AS attempts,
       count(DISTINCT a.run_id) FILTER (WHERE means = 'none') AS reruns,
       CASE WHEN max(outcome = 'success' AND weakened > 0) THEN 'weakened'
            WHEN max(outcome = 'success' AND means <> 'none' AND NOT undo) THEN 'success'
            WHEN max(outcome = 'success' AND undo) THEN 'undone'
            WHEN max(outcome = 'success') THEN 'flaky'
            WHEN max(outcome = 'partial') THEN 'partial'
            ELSE 'failure' END AS state,
       max(at) FILTER (WHERE outcome = 'success') AS resolved_at,
       max(a.run_id) FILTER (WHERE outcome = 'success') AS resolved_by,
       f.failure_id, f.category, f.summary
FROM fix_attempts a LEFT JOIN failures f ON f.run_id = a.opened_by
GROUP BY fix_id;

-- What tells a task from others, as it was recorded.
CREATE VIEW task_parts AS
SELECT task_no, 'label' AS part, name AS value FROM tasks
UNION SELECT task_no, 'label', title FROM tasks JOIN task_changes USING (name) WHERE title IS NOT NULL
UNION SELECT task_no, 'tool', tool FROM runs WHERE tool IS NOT NULL
UNION SELECT task_no, 'category', category FROM runs JOIN failures USING (run_id)
UNION SELECT task_no, 'kind', category FROM tasks JOIN task_changes USING (name) WHERE category IS NOT NULL
UNION SELECT task_no, 'after', d.value FROM tasks JOIN task_changes c USING (name), json_each(c.depends_on) d
UNION SELECT task_no, 'file', path FROM runs JOIN failures USING (run_id) JOIN failure_files USING (failure_no)
UNION SELECT task_no, 'file', path FROM runs JOIN snapshot_files USING (run_id)
UNION SELECT task_no, 'file', path FROM tasks JOIN task_changes USING (name) JOIN task_files USING (event_id);

-- Each promotion as it stands: the last decision holds, in whatever order they came; before one it waits for review.
CREATE VIEW promotion_states AS
SELECT promotion_id, pattern_key, entry_id,
    CASE change WHEN 'approved' THEN 'approved' WHEN 'rejected' THEN 'rejected' WHEN 'rolled_back' THEN 'rolled_back'
        ELSE 'pending' END AS state,
    (SELECT min(at) FROM promotion_changes f WHERE f.promotion_id = c.promotion_id) AS proposed_at,
    CASE WHEN change IN ('proposed', 'retirement_proposed') THEN NULL ELSE at END AS decided_at,
    person, reason,
    (SELECT a.target FROM promotion_changes a WHERE a.promotion_id = c.promotion_id AND a.change = 'approved'
     ORDER BY a.at DESC, a.event_id DESC LIMIT 1) AS target,
    (SELECT a.before FROM promotion_changes a WHERE a.promotion_id = c.promotion_id AND a.change = 'approved'
     ORDER BY a.at DESC, a.event_id DESC LIMIT 1) AS before,
    after,
    change = 'approved' AND EXISTS (
        SELECT 1 FROM promotion_changes r WHERE r.promotion_id = c.promotion_id
        AND r.change = 'retirement_proposed' AND r.at > c.at) AS retirement_proposed
FROM promotion_changes c
WHERE event_id = (
    SELECT event_id FROM promotion_changes d WHERE d.promotion_id = c.promotion_id
    ORDER BY change NOT IN ('proposed', 'retirement_proposed') DESC, at DESC, event_id DESC LIMIT 1);

CREATE VIEW qa_failures AS
SELECT f.failure_id AS id, t.name AS task_id, r.session AS session_id, f.run_id AS execution_id,
    json_array(coalesce(r.check_kind, 'check') || ':' || coalesce(r.tool, 'unknown')) AS failed_checks,
    f.category AS failure_category,
    coalesce(nullif((SELECT json_group_array(message) FROM occurrences o WHERE o.failure_no = f.failure_no), '[]'),
             json_array(f.summary)) AS error_messages,
    (SELECT json_group_array(path) FROM snapshot_files s WHERE s.run_id = f.run_id) AS files_modified,
    (SELECT count(*) || ' files changed, +' || sum(added) || ' -' || sum(removed) FROM snapshot_files s
     WHERE s.run_id = f.run_id HAVING count(*) > 0) AS diff_summary,
    t.signature_hash AS task_signature_hash,
    EXISTS (SELECT 1 FROM fix_attempts a WHERE a.command_key = r.command_key AND a.outcome = 'success'
            AND a.weakened = 0 AND a.at >= r.ended_at) AS resolved,
    (SELECT min(a.at) FROM fix_attempts a WHERE a.command_key = r.command_key AND a.outcome = 'success'
     AND a.weakened = 0 AND a.at >= r.ended_at) AS resolved_at,
    (SELECT count(DISTINCT a.run_id) FROM fix_attempts a WHERE a.opened_by = f.run_id AND a.means <> 'none')
        AS fix_attempts,
    r.ended_at AS created_at
FROM failures f JOIN runs r USING (run_id) JOIN tasks t USING (task_no);

CREATE VIEW qa_failure_patterns AS
SELECT p.pattern_id AS id, p.masked || ' (' || p.tool || coalesce(' ' || p.code, '') || ')' AS pattern_name,
    (SELECT f.category FROM occurrences o JOIN failures f USING (failure_no) WHERE o.pattern_no = p.pattern_no
     ORDER BY o.at DESC, f.run_id DESC LIMIT 1) AS failure_category,
    p.masked AS error_pattern,
    (SELECT substr(place, 3) || '/*' FROM pattern_places l WHERE l.pattern_no = p.pattern_no AND place LIKE 'd:_%'
     ORDER BY l.failures DESC, place LIMIT 1) AS file_pattern,
    p.tool || coalesce(' ' || p.code, '') || ': ' || p.masked_family AS description,
    coalesce((SELECT cause FROM note_patterns n JOIN fix_notes USING (event_id)
              WHERE n.pattern_key = p.pattern_key AND cause IS NOT NULL ORDER BY at DESC, event_id LIMIT 1), '')
        AS common_cause,
    coalesce((SELECT rule FROM note_patterns n JOIN fix_notes USING (event_id)
              WHERE n.pattern_key = p.pattern_key AND rule IS NOT NULL ORDER BY at DESC, event_id LIMIT 1),
             (SELECT label FROM strategies s WHERE s.match = 'pattern' AND s.error_pattern = p.pattern_key
              AND successes > 0 ORDER BY effectiveness DESC, successes DESC, strategy_id LIMIT 1), '')
        AS recommended_fix,
    p.failure_count AS occurrences,
    p.prevented AS prevention_successes, p.failed_anyway AS prevention_failures, p.prevention_effectiveness,
    (SELECT entry_id FROM entries e WHERE e.pattern_key = p.pattern_key ORDER BY entry_id LIMIT 1)
        AS knowledge_entry_id,
    max(0.1, min(0.95, 0.45 + 0.05 * (SELECT count(DISTINCT task_no) FROM occurrences o
                                      WHERE o.pattern_no = p.pattern_no)
                       + 0.1 * p.prevented - 0.05 * p.failed_anyway)) AS confidence,
    p.first_seen AS first_seen_at, p.last_seen AS last_seen_at, p.first_seen AS created_at, p.last_seen AS updated_at
FROM patterns p;

CREATE VIEW qa_pattern_occurrences AS
SELECT p.pattern_id || '/' || f.failure_id AS id, p.pattern_id, f.failure_id, o.message AS matched_error,
    CASE WHEN o.file IS NULL THEN '[]' ELSE json_array(o.file) END AS matched_files, o.at AS created_at
FROM occurrences o JOIN patterns p USING (pattern_no) JOIN failures f USING (failure_no);

-- A row for each attempt.
CREATE VIEW qa_fix_workflows AS
SELECT a.event_id AS id, f.failure_id AS initial_failure_id, a.task AS task_id,
    coalesce((SELECT approach FROM fix_notes n WHERE n.fix_id = a.fix_id AND approach IS NOT NULL
              ORDER BY n.at DESC, n.event_id LIMIT 1),
             (SELECT label FROM attempt_recipes c WHERE c.event_id = a.event_id ORDER BY kind DESC, recipe_key LIMIT 1),
             a.means) AS fix_approach,
    (SELECT count(DISTINCT b.run_id) FROM fix_attempts b
     WHERE b.fix_id = a.fix_id AND b.means <> 'none' AND b.at <= a.at) AS fix_attempt_number,
    (SELECT json_group_array(path) FROM attempt_files l WHERE l.event_id = a.event_id) AS files_changed,
    a.files || ' files changed, +' || a.lines_added || ' -' || a.lines_removed AS changes_summary,
    a.outcome,
    a.fixed || ' fixed, ' || a.persisted || ' still there, ' || a.introduced || ' new' AS qa_result,
    (SELECT min(e.entry_id) FROM attempt_patterns k JOIN entries e USING (pattern_key)
     WHERE k.event_id = a.event_id AND k.role = 'fixed') AS extracted_gotcha_id,
    a.at AS created_at
FROM fix_attempts a JOIN failures f ON f.run_id = a.opened_by
WHERE a.means <> 'none';

-- Advice that was due: shown, or held out. The pattern is named by its key: it may come later.
CREATE VIEW qa_warning_deliveries AS
SELECT d.warning_id AS id, d.session AS session_id, t.name AS task_id,
    coalesce((SELECT min(p.pattern_id) FROM known_patterns k JOIN patterns p USING (pattern_no)
              WHERE k.recorded_key = d.pattern_key), d.entry_id) AS pattern_id,
    d.text AS warning_text, d.score AS relevance_score, d.delivered_at AS shown_at,
    coalesce(d.outcome, (SELECT 'task_incomplete' FROM task_changes c WHERE c.name = t.name AND c.change = 'done'
                         AND c.at >= d.delivered_at LIMIT 1)) AS outcome,
    (SELECT r.ended_at FROM runs r WHERE r.run_id = coalesce(d.failed_in, d.passed_in)) AS outcome_recorded_at
FROM deliveries d JOIN tasks t USING (task_no)
WHERE d.arm = 'shown';

-- What is known. A gotcha that was learnt is about a pattern that a fix made go away: its words are the pattern's, its
-- fix is the strategy that most surely helps, and how far it is believed is folded from that one's attempts when it is
-- read (the increments are settings, and the index knows none).
CREATE VIEW knowledge_entries AS
SELECT e.entry_id AS id, e.type,
    coalesce(e.title, (SELECT p.masked FROM known_patterns k JOIN patterns p USING (pattern_no)
                       WHERE k.recorded_key = e.pattern_key LIMIT 1), '') AS content,
    e.globs AS file_patterns, e.actions AS action_types,
    max(0.1, min(0.95, 0.5 + 0.1 * coalesce(e.source = 'check', 0) + 0.1 * coalesce(e.fix_applied, 0))) AS confidence,
    CASE WHEN e.leader_id IS NULL THEN 1 ELSE
        (SELECT count(*) FROM entries m WHERE m.leader_id = e.leader_id AND m.event_id IS NOT NULL) END AS occurrences,
    e.session AS source_execution_id, e.task AS source_task_id,
    coalesce(e.agent, e.person, 'verify-run') AS source_agent_id, e.tags,
    e.at AS created_at,
    coalesce((SELECT max(c.at) FROM knowledge_changes c WHERE c.entry_id = e.entry_id), e.at) AS updated_at,
    (SELECT max(u.at) FROM entry_uses u WHERE u.entry_id = e.entry_id) AS last_used_at,
    (SELECT c.other_id FROM knowledge_changes c WHERE c.entry_id = e.entry_id AND c.change = 'superseded'
     ORDER BY c.at DESC, c.event_id LIMIT 1) AS superseded_by
FROM entries e;

-- Something to do against an error. What was learnt from attempts is against a pattern.
CREATE VIEW error_recovery_strategies AS
SELECT s.strategy_id AS id,
    coalesce((SELECT p.masked FROM known_patterns k JOIN patterns p USING (pattern_no)
              WHERE s.match = 'pattern' AND k.recorded_key = s.error_pattern LIMIT 1), s.error_pattern) AS error_pattern,
    (SELECT p.code FROM known_patterns k JOIN patterns p USING (pattern_no)
     WHERE s.match = 'pattern' AND k.recorded_key = s.error_pattern LIMIT 1) AS error_type,
    s.label AS recovery_technique, coalesce(s.steps, json_array(s.label)) AS steps,
    s.successes AS success_count, s.failures AS failure_count, s.effectiveness,
    json_object('technique', s.technique) AS context,
    (SELECT min(e.entry_id) FROM entries e WHERE s.match = 'pattern' AND e.pattern_key = s.error_pattern)
        AS knowledge_entry_id,
    (SELECT min(y.at) FROM strategy_tries y WHERE y.strategy_no = s.strategy_no) AS created_at,
    (SELECT max(y.at) FROM strategy_tries y WHERE y.strategy_no = s.strategy_no) AS updated_at
FROM strategies s;

-- One time that a strategy was tried.
CREATE VIEW strategy_attempts AS
SELECT y.event_id || '/' || s.strategy_id AS id, s.strategy_id, y.task AS task_id, r.session AS session_id,
    coalesce(r.agent, 'unknown') AS agent_id, coalesce(f.summary, '') AS error_message, y.outcome,
    y.discounted AS notes, y.at AS created_at
FROM strategy_tries y JOIN strategies s USING (strategy_no)
LEFT JOIN fix_attempts a ON a.event_id = y.event_id
LEFT JOIN failures f ON f.run_id = a.opened_by
LEFT JOIN runs r ON r.run_id = y.run_id
WHERE y.run_id IS NOT NULL
UNION ALL
SELECT event_id, strategy_id, task, session, coalesce(agent, 'unknown'), '', outcome, note, at FROM strategy_reports;

-- What tells a task from others, as it was recorded. Words, folders and kinds of files are made of these where tasks
-- are compared.
CREATE VIEW task_signatures AS
SELECT t.name AS id, t.name AS task_id, t.signature_hash,
    lower(trim(coalesce((SELECT title FROM task_changes c WHERE c.name = t.name AND title IS NOT NULL
                         ORDER BY at DESC, event_id DESC LIMIT 1), t.name))) AS title_normalized,
    coalesce((SELECT category FROM task_changes c WHERE c.name = t.name AND category IS NOT NULL
              ORDER BY at DESC, event_id DESC LIMIT 1), 'other') AS category,
    (SELECT json_group_array(value) FROM task_parts p WHERE p.task_no = t.task_no AND part = 'file') AS file_patterns,
    (SELECT count(*) FROM task_parts p WHERE p.task_no = t.task_no AND part = 'after') AS dependency_count,
    t.first_at AS created_at
FROM tasks t;

-- Who used what somebody wrote.
CREATE VIEW knowledge_reuse AS
SELECT event_id || '/' || entry_id AS id, entry_id AS knowledge_entry_id, task AS task_id,
    coalesce(agent, person, 'unknown') AS agent_id,
    CASE how WHEN 'queried' THEN 'similar' WHEN 'retrieved' THEN 'suggested' ELSE 'exact' END AS match_type,
    how IN ('applied', 'validated', 'prevented', 'did_not_help') AS applied,
    CASE how WHEN 'validated' THEN 'success' WHEN 'prevented' THEN 'success' WHEN 'did_not_help' THEN 'failure'
        WHEN 'applied' THEN NULL ELSE 'not_applied' END AS outcome,
    at AS created_at
FROM entry_uses;

-- What was taken back was rejected in the end.
CREATE VIEW knowledge_promotions AS
SELECT promotion_id AS id,
    coalesce(entry_id, (SELECT min(e.entry_id) FROM entries e WHERE e.pattern_key = s.pattern_key))
        AS knowledge_entry_id,
    target AS target_file,
    coalesce((SELECT e.title FROM entries e WHERE e.entry_id = s.entry_id AND e.title IS NOT NULL LIMIT 1),
             (SELECT p.masked FROM known_patterns k JOIN patterns p USING (pattern_no)
              WHERE k.recorded_key = s.pattern_key LIMIT 1), '') AS proposed_content,
    CASE state WHEN 'rolled_back' THEN 'rejected' ELSE state END AS status,
    reason AS review_notes, proposed_at AS created_at, decided_at AS reviewed_at,
    CASE state WHEN 'approved' THEN decided_at END AS promoted_at
FROM promotion_states s;

INSERT INTO failure_categories VALUES
    ('test_failure', 'tests ran and failed, or a coverage threshold was missed'),
    ('build_error', 'a compiler or bundler found an error'),
    ('lint_error', 'a linter or formatter found something'),
    ('type_error', 'a type checker found something'),
    ('runtime_error', 'a program crashed'),
    ('missing_dependency', 'something that should be installed is not'),
    ('config_error', 'the tool did not do its job: configuration, usage, nothing to check'),
    ('other', 'none of these');

INSERT INTO knowledge_types VALUES
    ('gotcha', 'a mistake that happens here, and what to do instead'),
    ('pattern', 'a way of doing something that works here'),
    ('decision', 'what was chosen, and why');
