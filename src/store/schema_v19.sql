-- Version 19: a run may be compared with several failing ones, and is one attempt all the same.

DROP VIEW qa_fix_workflows;
CREATE VIEW qa_fix_workflows AS
SELECT fix_id, command_key, a.root, opened_by,
       min(at) AS first_at,
       max(at) AS last_at,
       count(DISTINCT a.run_id) FILTER (WHERE means <> 'none') AS attempts,
       count(DISTINCT a.run_id) FILTER (WHERE means = 'none') AS reruns,
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
