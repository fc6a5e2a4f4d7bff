-- Version 8: tasks that somebody announced, advice that was due, and where patterns happen. Never edited: later versions
-- are later entries of `migrations.rs`.

-- Made of failures that are in the index already: everything is read anew.
DELETE FROM computed_with;

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

-- As before, with what was announced.
DROP VIEW task_signatures;
CREATE VIEW task_signatures AS
SELECT task_no, 'label' AS part, name AS value FROM tasks
UNION SELECT task_no, 'label', title FROM tasks JOIN task_changes USING (name) WHERE title IS NOT NULL
UNION SELECT task_no, 'tool', tool FROM runs WHERE tool IS NOT NULL
UNION SELECT task_no, 'category', category FROM runs JOIN qa_failures USING (run_id)
UNION SELECT task_no, 'kind', category FROM tasks JOIN task_changes USING (name) WHERE category IS NOT NULL
UNION SELECT task_no, 'after', d.value FROM tasks JOIN task_changes c USING (name), json_each(c.depends_on) d
UNION SELECT task_no, 'file', path FROM runs JOIN qa_failures USING (run_id) JOIN failure_files USING (failure_no)
UNION SELECT task_no, 'file', path FROM runs JOIN snapshot_files USING (run_id)
UNION SELECT task_no, 'file', path FROM tasks JOIN task_changes USING (name) JOIN task_files USING (event_id);

-- Advice that was due: shown, or held out. The pattern is named by its key: it may come later.
CREATE TABLE qa_warning_deliveries (
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
    arm TEXT NOT NULL CHECK (arm IN ('shown', 'holdout')),
    holdout_share REAL NOT NULL CHECK (holdout_share BETWEEN 0 AND 1),
    surface TEXT NOT NULL,
    command TEXT,
    files TEXT NOT NULL CHECK (json_valid(files)),
    delivered_at TEXT NOT NULL,
    CHECK ((pattern_key IS NULL) <> (entry_id IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_by_warning ON qa_warning_deliveries (warning_id);
CREATE INDEX deliveries_by_task ON qa_warning_deliveries (task_no, family_key);
CREATE INDEX deliveries_by_pattern ON qa_warning_deliveries (pattern_key);
CREATE INDEX deliveries_by_entry ON qa_warning_deliveries (entry_id);
CREATE INDEX deliveries_by_family ON qa_warning_deliveries (family_key, delivered_at);

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
    pattern_no INTEGER NOT NULL REFERENCES qa_failure_patterns ON DELETE CASCADE,
    failures INTEGER NOT NULL CHECK (failures >= 1),
    PRIMARY KEY (place, pattern_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX places_by_failures ON pattern_places (place, failures);
CREATE INDEX places_by_pattern ON pattern_places (pattern_no);
CREATE INDEX occurrences_by_file ON qa_pattern_occurrences (file, at) WHERE file IS NOT NULL;

-- Words of patterns' messages.
CREATE VIRTUAL TABLE pattern_words USING fts5(
    masked, family, code, content='', contentless_delete=1, tokenize="unicode61 tokenchars '_'");
