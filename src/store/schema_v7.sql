-- Version 7: what helps against a pattern. Never edited: later versions are later entries of `migrations.rs`.

-- Made from attempts that are in the index already: everything is read anew.
DELETE FROM computed_with;

-- Something to do against an error. What was learnt from attempts is against a pattern.
CREATE TABLE error_recovery_strategies (
    strategy_no INTEGER PRIMARY KEY,
    -- Short ids may meet: none of them is a key.
    strategy_id TEXT NOT NULL,
    -- What `error_pattern` is.
    match TEXT NOT NULL CHECK (match IN ('pattern', 'substring', 'regex')),
    -- A pattern's key as it was when it was tried: `key_patterns` says whose that is now.
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
    UNIQUE (match, error_pattern, technique, recipe_key)
) STRICT;
CREATE INDEX strategies_by_id ON error_recovery_strategies (strategy_id);
CREATE INDEX strategies_by_error ON error_recovery_strategies (error_pattern);

-- One time that a strategy was tried.
CREATE TABLE strategy_attempts (
    strategy_no INTEGER NOT NULL REFERENCES error_recovery_strategies ON DELETE CASCADE,
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
CREATE INDEX strategy_attempts_by_event ON strategy_attempts (event_id);
CREATE INDEX strategy_attempts_by_run ON strategy_attempts (run_id);
CREATE INDEX strategy_attempts_by_task ON strategy_attempts (task, at);

CREATE TRIGGER strategy_tried AFTER INSERT ON strategy_attempts WHEN NEW.counts_as IS NOT NULL BEGIN
    UPDATE error_recovery_strategies SET successes = successes + (NEW.counts_as = 'success'),
        failures = failures + (NEW.counts_as = 'failure'), partials = partials + (NEW.counts_as = 'partial')
    WHERE strategy_no = NEW.strategy_no;
END;
CREATE TRIGGER strategy_judged AFTER UPDATE ON strategy_attempts WHEN NEW.counts_as IS NOT OLD.counts_as BEGIN
    UPDATE error_recovery_strategies SET
        successes = successes + (NEW.counts_as IS 'success') - (OLD.counts_as IS 'success'),
        failures = failures + (NEW.counts_as IS 'failure') - (OLD.counts_as IS 'failure'),
        partials = partials + (NEW.counts_as IS 'partial') - (OLD.counts_as IS 'partial')
    WHERE strategy_no = NEW.strategy_no;
END;
CREATE TRIGGER strategy_taken_back AFTER DELETE ON strategy_attempts WHEN OLD.counts_as IS NOT NULL BEGIN
    UPDATE error_recovery_strategies SET successes = successes - (OLD.counts_as = 'success'),
        failures = failures - (OLD.counts_as = 'failure'), partials = partials - (OLD.counts_as = 'partial')
    WHERE strategy_no = OLD.strategy_no;
END;

-- A table, not a check: people may have types of their own.
CREATE TABLE knowledge_types (
    name TEXT PRIMARY KEY,
    description TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO knowledge_types VALUES ('gotcha', 'a mistake that happens here, and what to do instead');

-- What is known. A gotcha that was learnt is about a pattern that a fix made go away: its words are the pattern's, its
-- fix is the strategy that most surely helps, and how far it is believed is folded from that one's attempts when it is
-- read (the increments are settings, and the index knows none).
CREATE TABLE knowledge_entries (
    entry_no INTEGER PRIMARY KEY,
    entry_id TEXT NOT NULL,
    type TEXT NOT NULL REFERENCES knowledge_types,
    -- A key as it was recorded; NULL of what is about no pattern.
    pattern_key TEXT,
    UNIQUE (entry_id, pattern_key)
) STRICT;
CREATE INDEX knowledge_by_pattern ON knowledge_entries (pattern_key);

-- What tells a task from others, as it was recorded. Words, folders and kinds of files are made of these where tasks
-- are compared.
CREATE VIEW task_signatures AS
SELECT task_no, 'label' AS part, name AS value FROM tasks
UNION SELECT task_no, 'tool', tool FROM runs WHERE tool IS NOT NULL
UNION SELECT task_no, 'category', category FROM runs JOIN qa_failures USING (run_id)
UNION SELECT task_no, 'file', path FROM runs JOIN qa_failures USING (run_id) JOIN failure_files USING (failure_no)
UNION SELECT task_no, 'file', path FROM runs JOIN snapshot_files USING (run_id);

-- Whether a pattern was seen again in a task, and which attempts a flake's run belongs to.
DROP INDEX occurrences_by_task;
CREATE INDEX occurrences_by_task ON qa_pattern_occurrences (task_no, pattern_no, at);
CREATE INDEX attempts_by_before ON fix_attempts (before_run);
CREATE INDEX attempts_by_opening ON fix_attempts (opened_by);

-- As before, but a check that was made weaker resolves nothing.
DROP VIEW failure_resolutions;
CREATE VIEW failure_resolutions AS
SELECT f.failure_id, f.run_id, a.fix_id, a.run_id AS resolved_by, min(a.at) AS resolved_at
FROM qa_failures f JOIN runs r USING (run_id)
JOIN fix_attempts a ON a.command_key = r.command_key AND a.outcome = 'success' AND a.weakened = 0
                   AND a.at >= r.ended_at
GROUP BY f.failure_no;
