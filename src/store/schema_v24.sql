-- Version 24: what the lessons that a team shares teach. Computed from the files of the work trees, not from events: an
-- index that is computed anew reads them anew. Never edited: later versions are later entries of `migrations.rs`.

-- The state of a work tree's shared lessons when all of them had been read.
CREATE TABLE taught_roots (
    root TEXT NOT NULL PRIMARY KEY CHECK (json_valid(root)),
    stamp TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per file; without a lesson when it can't be read, without an entry when it says nothing that isn't known here.
CREATE TABLE taught_files (
    root TEXT NOT NULL,
    path TEXT NOT NULL,
    stamp TEXT NOT NULL,
    lesson_id TEXT,
    entry_id TEXT,
    event_id TEXT,
    PRIMARY KEY (root, path),
    CHECK ((entry_id IS NULL) = (event_id IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX taught_by_entry ON taught_files (entry_id) WHERE entry_id IS NOT NULL;
CREATE INDEX taught_by_event ON taught_files (event_id) WHERE event_id IS NOT NULL;

-- The patterns that a shared lesson is about, by their ids.
CREATE TABLE taught_patterns (
    root TEXT NOT NULL,
    path TEXT NOT NULL,
    pattern_id TEXT NOT NULL,
    PRIMARY KEY (root, pattern_id, path),
    FOREIGN KEY (root, path) REFERENCES taught_files ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX taught_patterns_by_file ON taught_patterns (root, path);

DROP VIEW imported_events;
CREATE VIEW imported_events AS
SELECT event_id FROM events JOIN segments USING (segment_no) WHERE substr(name, 1, 9) = 'imported.'
UNION ALL SELECT event_id FROM taught_files WHERE event_id IS NOT NULL;
