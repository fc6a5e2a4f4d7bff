-- Patterns through the versions of the fingerprint, and patterns that were merged.

-- The fingerprint's version with which the keys in this index were computed; one row. Another one: rebuilt.
CREATE TABLE computed_with (
    fingerprint INTEGER NOT NULL
) STRICT;

-- What has to be equal for two patterns to be near-duplicates (a hash); NULL where the message says too little.
ALTER TABLE qa_failure_patterns ADD COLUMN near_scope INTEGER;

-- A pattern's MinHash sketch, 24 rows each: without a foreign key, whose check would cost as much as the row.
CREATE TABLE near_bands (
    band INTEGER NOT NULL,
    pattern_no INTEGER NOT NULL,
    PRIMARY KEY (band, pattern_no)
) STRICT, WITHOUT ROWID;

-- Keys that events have from other versions of the fingerprint, and the patterns that have those failures now.
CREATE TABLE recorded_keys (
    recorded_key TEXT NOT NULL,
    pattern_no INTEGER NOT NULL REFERENCES qa_failure_patterns ON DELETE CASCADE,
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
    pattern_no INTEGER PRIMARY KEY REFERENCES qa_failure_patterns ON DELETE CASCADE,
    leader_no INTEGER NOT NULL REFERENCES qa_failure_patterns ON DELETE CASCADE
) STRICT;
CREATE INDEX groups_by_leader ON pattern_groups (leader_no);

-- Every pattern with the one that stands for it, itself mostly.
CREATE VIEW pattern_leaders AS
    SELECT pattern_no, coalesce(leader_no, pattern_no) AS leader_no
    FROM qa_failure_patterns LEFT JOIN pattern_groups USING (pattern_no);

-- Any key that an event may have, and the patterns that have it now.
CREATE VIEW key_patterns AS
    SELECT pattern_key AS recorded_key, pattern_no FROM qa_failure_patterns
    UNION ALL SELECT recorded_key, pattern_no FROM recorded_keys;
