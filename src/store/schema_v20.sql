-- Version 20: a return to an earlier state of the tree is no fix, and only a proven flake discounts anything: what was
-- judged before is read again. Never edited: later versions are later entries of `migrations.rs`.

ALTER TABLE fix_attempts ADD COLUMN undo INTEGER NOT NULL DEFAULT 0 CHECK (undo IN (0, 1));
DROP VIEW qa_fix_workflows;
CREATE VIEW qa_fix_workflows AS
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
FROM fix_attempts a LEFT JOIN qa_failures f ON f.run_id = a.opened_by
GROUP BY fix_id;
DELETE FROM computed_with;
