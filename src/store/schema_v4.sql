-- Version 4: the work tree at a run. Never edited: later versions are later entries of `migrations.rs`.

-- No reference to `runs`: segments come in any order.
CREATE TABLE snapshots (
    run_id TEXT PRIMARY KEY,
    event_id TEXT NOT NULL,
    at TEXT NOT NULL,
    -- The git tree, hex; its objects may be gone.
    tree TEXT,
    exact INTEGER NOT NULL CHECK (exact IN (0, 1)),
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

-- Files that differ from the base, as text.
CREATE TABLE snapshot_files (
    run_id TEXT NOT NULL REFERENCES snapshots ON DELETE CASCADE,
    path TEXT NOT NULL,
    change TEXT NOT NULL CHECK (change IN ('added', 'removed', 'modified', 'renamed', 'retyped')),
    added INTEGER NOT NULL CHECK (added >= 0),
    removed INTEGER NOT NULL CHECK (removed >= 0),
    PRIMARY KEY (run_id, path)
) STRICT, WITHOUT ROWID;

CREATE INDEX snapshots_by_tree ON snapshots (tree) WHERE tree IS NOT NULL;
CREATE INDEX snapshot_files_by_path ON snapshot_files (path);
