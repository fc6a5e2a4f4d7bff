-- Version 25: the tables get names of their own, and views with the names and columns of the specification stand before
-- them, for queries from outside. Never edited: later versions are later entries of `migrations.rs`.
--
-- Confidence in these views is what the shipped increments give for tasks and warnings; `pattern list --json` and
-- `knowledge list --json` say it with all increments and the settings of the project.

DROP VIEW qa_fix_workflows;
DROP VIEW task_signatures;
DROP VIEW knowledge_promotions;
ALTER TABLE qa_failures RENAME TO failures;
ALTER TABLE qa_failure_patterns RENAME TO patterns;
ALTER TABLE qa_pattern_occurrences RENAME TO occurrences;
ALTER TABLE qa_warning_deliveries RENAME TO deliveries;
ALTER TABLE knowledge_entries RENAME TO entries;
ALTER TABLE error_recovery_strategies RENAME TO strategies;
ALTER TABLE strategy_attempts RENAME TO strategy_tries;
ALTER TABLE knowledge_reuse RENAME TO entry_uses;

-- What was shown, as it was shown.
ALTER TABLE deliveries ADD COLUMN text TEXT;
-- Of what a task was announced with: title, category, files; of its name where it was not announced.
ALTER TABLE tasks ADD COLUMN signature_hash TEXT;
DELETE FROM computed_with;

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

-- From here on: for queries from outside.

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

CREATE VIEW qa_warning_deliveries AS
SELECT d.warning_id AS id, d.session AS session_id, t.name AS task_id,
    coalesce((SELECT min(p.pattern_id) FROM key_patterns k JOIN patterns p USING (pattern_no)
              WHERE k.recorded_key = d.pattern_key), d.entry_id) AS pattern_id,
    d.text AS warning_text, d.score AS relevance_score, d.delivered_at AS shown_at,
    coalesce(d.outcome, (SELECT 'task_incomplete' FROM task_changes c WHERE c.name = t.name AND c.change = 'done'
                         AND c.at >= d.delivered_at LIMIT 1)) AS outcome,
    (SELECT r.ended_at FROM runs r WHERE r.run_id = coalesce(d.failed_in, d.passed_in)) AS outcome_recorded_at
FROM deliveries d JOIN tasks t USING (task_no)
WHERE d.arm = 'shown';

CREATE VIEW knowledge_entries AS
SELECT e.entry_id AS id, e.type,
    coalesce(e.title, (SELECT p.masked FROM key_patterns k JOIN patterns p USING (pattern_no)
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

CREATE VIEW error_recovery_strategies AS
SELECT s.strategy_id AS id,
    coalesce((SELECT p.masked FROM key_patterns k JOIN patterns p USING (pattern_no)
              WHERE s.match = 'pattern' AND k.recorded_key = s.error_pattern LIMIT 1), s.error_pattern) AS error_pattern,
    (SELECT p.code FROM key_patterns k JOIN patterns p USING (pattern_no)
     WHERE s.match = 'pattern' AND k.recorded_key = s.error_pattern LIMIT 1) AS error_type,
    s.label AS recovery_technique, coalesce(s.steps, json_array(s.label)) AS steps,
    s.successes AS success_count, s.failures AS failure_count, s.effectiveness,
    json_object('technique', s.technique) AS context,
    (SELECT min(e.entry_id) FROM entries e WHERE s.match = 'pattern' AND e.pattern_key = s.error_pattern)
        AS knowledge_entry_id,
    (SELECT min(y.at) FROM strategy_tries y WHERE y.strategy_no = s.strategy_no) AS created_at,
    (SELECT max(y.at) FROM strategy_tries y WHERE y.strategy_no = s.strategy_no) AS updated_at
FROM strategies s;

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
             (SELECT p.masked FROM key_patterns k JOIN patterns p USING (pattern_no)
              WHERE k.recorded_key = s.pattern_key LIMIT 1), '') AS proposed_content,
    CASE state WHEN 'rolled_back' THEN 'rejected' ELSE state END AS status,
    reason AS review_notes, proposed_at AS created_at, decided_at AS reviewed_at,
    CASE state WHEN 'approved' THEN decided_at END AS promoted_at
FROM promotion_states s;
