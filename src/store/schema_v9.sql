-- Version 9: what became of advice. Never edited: later versions are later entries of `migrations.rs`.

-- Made of runs that are in the index already: everything is read anew.
DELETE FROM computed_with;

-- What a run looked at, of its class: paths, filters, packages as JSON; NULL in runs of older binaries.
ALTER TABLE runs ADD COLUMN selectors TEXT CHECK (json_valid(selectors));
CREATE INDEX runs_by_task_and_time ON runs (task_no, started_at);

-- Where a pattern was seen: a check that looks there shows whether it is gone.
CREATE TABLE pattern_checks (
    pattern_no INTEGER NOT NULL REFERENCES qa_failure_patterns ON DELETE CASCADE,
    class_key TEXT NOT NULL,
    dir TEXT NOT NULL CHECK (json_valid(dir)),
    selectors TEXT NOT NULL CHECK (json_valid(selectors)),
    PRIMARY KEY (pattern_no, class_key, dir, selectors)
) STRICT, WITHOUT ROWID;

-- The first run of the task after the advice that had the mistake in it, and the first that passed where it would have
-- been seen. Runs that are known to be flakes show nothing.
ALTER TABLE qa_warning_deliveries ADD COLUMN failed_in TEXT;
ALTER TABLE qa_warning_deliveries ADD COLUMN passed_in TEXT;
-- As far as runs tell; NULL: no check has shown anything so far. What that means when the task is over is told by
-- whoever reads it: `task_incomplete` or `no_opportunity`.
ALTER TABLE qa_warning_deliveries ADD COLUMN outcome TEXT GENERATED ALWAYS AS (
    CASE WHEN failed_in IS NOT NULL THEN 'failed_anyway' WHEN passed_in IS NOT NULL THEN 'prevented' END) VIRTUAL;
CREATE INDEX deliveries_by_arm ON qa_warning_deliveries (arm, outcome);

-- Tasks that were shown advice about the pattern and did without the mistake, or made it all the same.
ALTER TABLE qa_failure_patterns ADD COLUMN prevented INTEGER NOT NULL DEFAULT 0 CHECK (prevented >= 0);
ALTER TABLE qa_failure_patterns ADD COLUMN failed_anyway INTEGER NOT NULL DEFAULT 0 CHECK (failed_anyway >= 0);
ALTER TABLE qa_failure_patterns ADD COLUMN prevention_effectiveness REAL GENERATED ALWAYS AS (
    CASE WHEN prevented + failed_anyway = 0 THEN 0.5 ELSE 1.0 * prevented / (prevented + failed_anyway) END) VIRTUAL
    CHECK (prevention_effectiveness BETWEEN 0 AND 1);
