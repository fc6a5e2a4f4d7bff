-- Version 3: what was tried against failures. Never edited: later versions are later entries of `migrations.rs`.

-- What runs need to have in common so that one can close the other's failure; NULL in runs of older binaries.
ALTER TABLE runs ADD COLUMN class_key TEXT;
-- 0: the status is that of a whole shell line, not of the check in it.
ALTER TABLE runs ADD COLUMN own_status INTEGER NOT NULL DEFAULT 1 CHECK (own_status IN (0, 1));
CREATE INDEX runs_by_class ON runs (class_key, passed, command_key, ended_at);

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
    weakened INTEGER NOT NULL CHECK (weakened >= 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempts_by_fix ON fix_attempts (fix_id, at);
CREATE INDEX attempts_by_key ON fix_attempts (command_key, at);
CREATE INDEX attempts_by_run ON fix_attempts (run_id);

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
    by_whom TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX notes_by_fix ON fix_notes (fix_id, at);

-- A failure with everything that was tried until it was gone. A pass without any change is no fix; one that was reached
-- by weakening the check isn't either.
CREATE VIEW qa_fix_workflows AS
SELECT fix_id, command_key, a.root, opened_by,
       min(at) AS first_at,
       max(at) AS last_at,
       count(*) FILTER (WHERE means <> 'none') AS attempts,
       count(*) FILTER (WHERE means = 'none') AS reruns,
       CASE WHEN max(outcome = 'success' AND weakened > 0) THEN 'weakened'
            WHEN max(outcome = 'success' AND means <> 'none') THEN 'success'
            WHEN max(outcome = 'success') THEN 'flaky'
            WHEN max(outcome = 'partial') THEN 'partial'
            ELSE 'failure' END AS state,
       max(at) FILTER (WHERE outcome = 'success') AS resolved_at,
       max(a.run_id) FILTER (WHERE outcome = 'success') AS resolved_by,
       f.failure_id, f.category, f.summary
FROM fix_attempts a LEFT JOIN qa_failures f ON f.run_id = a.opened_by
GROUP BY fix_id;

-- A failure is resolved when a later run of its check, or of one that covers it, found nothing of it any more.
CREATE VIEW failure_resolutions AS
SELECT f.failure_id, f.run_id, a.fix_id, a.run_id AS resolved_by, min(a.at) AS resolved_at
FROM qa_failures f JOIN runs r USING (run_id)
JOIN fix_attempts a ON a.command_key = r.command_key AND a.outcome = 'success' AND a.at >= r.ended_at
GROUP BY f.failure_no;
