//! Every sum is what counting the rows behind it gives.

use super::{open, sorted_rows};
use crate::base::clock::Timestamp;
use crate::event::sample::{
    attempt, cancelled, days_later, failed_run, flake, folder, key, merge, of_category, old_failed_run, old_key,
    passed_run, run_id, split, tried, weakened_mark, with_agent,
};
use crate::event::{AttemptOutcome, Event, EventBody, Purge};
use crate::store::Index;

/// A table of sums, as it is kept and as it is counted from what was recorded; names in place of numbers.
pub(super) struct Sum {
    pub kept: &'static str,
    recounted: &'static str,
}

impl Sum {
    /// The rows as they are kept, and as they are counted.
    pub(super) fn both(&self, index: &Index) -> [Vec<String>; 2] {
        [self.kept, self.recounted].map(|sql| sorted_rows(index, sql))
    }
}

/// Begins with the runs and failures as they count, from the events' rows alone.
macro_rules! counted {
    ($sql:literal) => {
        concat!(
            "WITH flaky_items AS MATERIALIZED (
                 SELECT DISTINCT o.pattern_no, o.failure_no FROM flakes k JOIN flake_patterns fp USING (event_id)
                 JOIN known_patterns n ON n.recorded_key = fp.pattern_key
                 JOIN failures f ON f.run_id = k.fail_run
                 JOIN occurrences o ON o.failure_no = f.failure_no AND o.pattern_no = n.pattern_no
                 WHERE k.proof = 'proven'),
             items AS MATERIALIZED (
                 SELECT *, (pattern_no, failure_no) IN (SELECT pattern_no, failure_no FROM flaky_items) AS is_flaky
                 FROM occurrences),
             counted_failures AS MATERIALIZED (
                 SELECT *, no_lesson IS NOT 'cancelled' AND NOT (
                     run_id IN (SELECT fail_run FROM flakes WHERE proof = 'proven')
                     AND failure_no NOT IN (SELECT failure_no FROM items WHERE NOT is_flaky)) AS counts
                 FROM failures),
             counted_runs AS MATERIALIZED (
                 SELECT r.*, unixepoch(substr(started_at, 1, 10)) / 86400 AS day, coalesce(agent, '') AS who,
                        CASE WHEN check_kind IS NULL THEN '' ELSE coalesce(tool, check_kind) END AS what,
                        CASE WHEN run_id IN (SELECT run_id FROM counted_failures WHERE NOT counts) THEN 'no'
                             WHEN passed AND run_id IN (SELECT run_id FROM fix_attempts
                                                        WHERE outcome = 'success' AND weakened > 0) THEN 'no'
                             WHEN passed THEN 'passed' ELSE 'failed' END AS how
                 FROM runs r),
             leaders AS MATERIALIZED (SELECT * FROM pattern_leaders),
             tried AS (
                 SELECT leader_no, fix_id, role = 'fixed' AND state = 'success' AS fixed
                 FROM attempt_patterns a JOIN known_patterns n ON n.recorded_key = a.pattern_key
                 JOIN leaders USING (pattern_no) JOIN fix_attempts USING (event_id) JOIN fix_figures USING (fix_id)
                 WHERE role IN ('fixed', 'persisted') AND means <> 'none'
                   AND state NOT IN ('weakened', 'undone', 'flaky') AND NOT suspect) ",
            $sql
        )
    };
}

pub(super) const SUMS: [Sum; 13] = [
    Sum {
        kept: "SELECT day, t.name, a.name, w.name, runs, failed, uncounted FROM run_days JOIN tasks t USING (task_no)
               JOIN names a ON a.name_no = agent_no JOIN names w ON w.name_no = tool_no",
        recounted: counted!(
            "SELECT day, name, who, what, count(*), sum(how = 'failed'), sum(how = 'no')
             FROM counted_runs JOIN tasks USING (task_no) GROUP BY 1, 2, 3, 4"
        ),
    },
    Sum {
        kept: "SELECT day, t.name, c.name, a.name, w.name, failures FROM failure_days JOIN tasks t USING (task_no)
               JOIN names c ON c.name_no = category_no
               JOIN names a ON a.name_no = agent_no JOIN names w ON w.name_no = tool_no",
        recounted: counted!(
            "SELECT day, name, category, who, what, count(*) FROM counted_failures JOIN counted_runs USING (run_id)
             JOIN tasks USING (task_no) WHERE counts GROUP BY 1, 2, 3, 4, 5"
        ),
    },
    Sum {
        kept: "SELECT t.name, f.command_key, run_id FROM first_runs f JOIN runs USING (run_no)
               JOIN tasks t ON t.task_no = f.task_no",
        recounted: "SELECT name, command_key, run_id FROM runs r JOIN tasks USING (task_no) WHERE NOT EXISTS (
                        SELECT 1 FROM runs o WHERE o.task_no = r.task_no AND o.command_key = r.command_key
                        AND (o.started_at, o.run_id) < (r.started_at, r.run_id))",
    },
    Sum {
        kept: "SELECT day, a.name, w.name, runs, passed FROM first_run_days
               JOIN names a ON a.name_no = agent_no JOIN names w ON w.name_no = tool_no",
        recounted: counted!(
            "SELECT day, who, what, count(*), sum(how = 'passed') FROM counted_runs r
             WHERE how <> 'no' AND NOT EXISTS (
                 SELECT 1 FROM runs o WHERE o.task_no = r.task_no AND o.command_key = r.command_key
                 AND (o.started_at, o.run_id) < (r.started_at, r.run_id)) GROUP BY 1, 2, 3"
        ),
    },
    Sum {
        kept: "SELECT fix_id, last_at, resolved_at, state, suspect, attempts, c.name, a.name, w.name, seconds
               FROM fix_figures JOIN names c ON c.name_no = category_no
               JOIN names a ON a.name_no = agent_no JOIN names w ON w.name_no = tool_no",
        recounted: counted!(
            "SELECT fix_id, last_at, resolved_at, state,
                 EXISTS (SELECT 1 FROM fix_attempts a JOIN flakes k ON k.fail_run = a.before_run OR k.fail_run = a.opened_by
                         JOIN flake_patterns h ON h.event_id = k.event_id
                         JOIN attempt_patterns g ON g.event_id = a.event_id AND g.pattern_key = h.pattern_key
                         WHERE a.fix_id = s.fix_id AND means <> 'none' AND role = 'fixed' AND proof = 'proven'),
                 attempts, coalesce(category, ''), coalesce(who, ''), coalesce(what, ''),
                 unixepoch(resolved_at) - unixepoch(started_at)
             FROM fix_states s LEFT JOIN counted_runs ON run_id = opened_by"
        ),
    },
    // Tasks have the numbers from 1, without a gap.
    Sum { kept: "SELECT coalesce(max(task_no), 0) FROM tasks", recounted: "SELECT count(*) FROM tasks" },
    Sum {
        kept: "SELECT pattern_key, fix_id, fixed FROM pattern_fixes",
        recounted: "SELECT pattern_key, fix_id, max(role = 'fixed' AND state = 'success')
                    FROM attempt_patterns JOIN fix_attempts USING (event_id) JOIN fix_figures USING (fix_id)
                    WHERE role IN ('fixed', 'persisted') AND means <> 'none'
                      AND state NOT IN ('weakened', 'undone', 'flaky') AND NOT suspect GROUP BY 1, 2",
    },
    Sum {
        kept: "SELECT day, pattern_key, c.name, a.name, w.name, failures FROM pattern_days
               JOIN patterns USING (pattern_no) JOIN names c ON c.name_no = category_no
               JOIN names a ON a.name_no = agent_no JOIN names w ON w.name_no = tool_no",
        recounted: counted!(
            "SELECT day, p.pattern_key, category, who, what, count(DISTINCT failure_no)
             FROM items JOIN leaders USING (pattern_no) JOIN patterns p ON p.pattern_no = leader_no
             JOIN failures USING (failure_no) JOIN counted_runs USING (run_id)
             WHERE NOT is_flaky GROUP BY 1, 2, 3, 4, 5"
        ),
    },
    Sum {
        kept: "SELECT pattern_key, c.name, failures, tasks, flaky, g.tie, tried, fixed FROM pattern_figures g
               JOIN patterns USING (pattern_no) JOIN names c ON c.name_no = category_no",
        recounted: counted!(
            "SELECT p.pattern_key,
                 (SELECT category FROM items o JOIN leaders ol USING (pattern_no) JOIN failures USING (failure_no)
                  WHERE ol.leader_no = l.leader_no
                  GROUP BY category ORDER BY count(DISTINCT failure_no) DESC, category LIMIT 1),
                 count(DISTINCT failure_no) FILTER (WHERE NOT is_flaky),
                 count(DISTINCT task_no) FILTER (WHERE NOT is_flaky),
                 count(DISTINCT failure_no) - count(DISTINCT failure_no) FILTER (WHERE NOT is_flaky), p.tie,
                 (SELECT count(DISTINCT fix_id) FROM tried t WHERE t.leader_no = l.leader_no),
                 (SELECT count(DISTINCT fix_id) FROM tried t WHERE t.leader_no = l.leader_no AND fixed)
             FROM items JOIN leaders l USING (pattern_no) JOIN patterns p ON p.pattern_no = l.leader_no
             GROUP BY l.leader_no"
        ),
    },
    Sum {
        kept: "SELECT o.command_key, run_id, o.ended_at, o.branch FROM open_failures o JOIN failures USING (failure_no)",
        recounted: "SELECT r.command_key, run_id, r.ended_at, coalesce(r.branch, '') FROM runs r JOIN failures USING (run_id)
                    WHERE NOT passed AND NOT EXISTS (
                        SELECT 1 FROM runs p WHERE p.command_key = r.command_key AND p.ended_at > r.ended_at
                        AND p.branch IS r.branch AND p.own_status AND p.passed)
                    AND NOT EXISTS (SELECT 1 FROM fix_attempts a WHERE a.command_key = r.command_key
                                    AND a.at >= r.ended_at AND a.outcome = 'success')",
    },
    Sum {
        kept: "SELECT command_key, branch, ended_at FROM last_passes
               UNION ALL SELECT command_key, 'any', at FROM last_solutions",
        recounted: "SELECT command_key, coalesce(branch, ''), max(ended_at) FROM runs WHERE passed AND own_status GROUP BY 1, 2
                    UNION ALL SELECT command_key, 'any', max(at) FROM fix_attempts WHERE outcome = 'success' GROUP BY 1",
    },
    Sum {
        kept: "SELECT t.name, pattern_key FROM comebacks JOIN tasks t USING (task_no) JOIN patterns USING (pattern_no)",
        recounted: "SELECT DISTINCT name, pattern_key FROM occurrences o JOIN tasks USING (task_no)
                    JOIN patterns USING (pattern_no)
                    WHERE (SELECT min(at) FROM occurrences e WHERE e.pattern_no = o.pattern_no AND e.task_no <> o.task_no)
                        < (SELECT min(at) FROM occurrences e WHERE e.pattern_no = o.pattern_no AND e.task_no = o.task_no)",
    },
    Sum {
        kept: "SELECT entry_id, task FROM helped_tasks
               UNION ALL SELECT 'total ' || name, CAST(value AS TEXT) FROM totals",
        recounted: "WITH helped AS (SELECT DISTINCT entry_id, y.task FROM entries e
                        JOIN strategies ON error_pattern = pattern_key JOIN strategy_tries y USING (strategy_no)
                        WHERE e.event_id IS NULL AND counts_as = 'success')
                    SELECT * FROM helped h WHERE EXISTS (
                        SELECT 1 FROM helped o WHERE o.entry_id = h.entry_id AND o.task <> h.task)
                    UNION ALL SELECT 'total tries', CAST(count(counts_as) AS TEXT) FROM strategy_tries
                    UNION ALL SELECT 'total helped', CAST(count(*) AS TEXT) FROM strategy_tries WHERE counts_as = 'success'
                    UNION ALL SELECT 'total learnt', CAST(count(*) AS TEXT) FROM entries WHERE event_id IS NULL
                    UNION ALL SELECT 'total patterns', CAST(count(*) AS TEXT) FROM pattern_figures",
    },
];

fn assert_sums(index: &Index) {
    for sum in &SUMS {
        let [kept, recounted] = sum.both(index);
        assert_eq!(kept, recounted, "{}", sum.kept);
    }
}

fn numbers<const N: usize>(index: &Index, sql: &str) -> [i64; N] {
    index
        .connection
        .query_row(sql, [], |row| Ok(std::array::from_fn(|column| row.get(column).expect("a number"))))
        .expect("reads")
}

const RUNS: &str = "SELECT sum(runs), sum(failed), sum(uncounted) FROM run_days";

#[test]
fn what_does_not_depend_on_the_code_is_a_run_but_no_failure() {
    let dir = folder();
    let mut store = open(dir.path());
    let events = [
        passed_run(1, "one"),
        failed_run(2, "one", &["alpha", "bravo"]),
        cancelled(failed_run(3, "one", &["cargo"])),
        with_agent(failed_run(4, "two", &["alpha"]), "codex"),
    ];
    store.append(&events).expect("appends");
    assert_eq!(numbers(store.index(), RUNS), [4, 2, 1]);
    assert_eq!(numbers(store.index(), "SELECT sum(failures) FROM failure_days"), [2]);
    let first = "SELECT sum(runs), sum(passed) FROM first_run_days";
    assert_eq!(numbers(store.index(), first), [2, 1], "the first of each task");
    assert_sums(store.index());

    // Proven later: alpha comes and goes in run 2, all of run 4 does.
    let flaky = |pass, fail, names: &[&str]| {
        let mut event = flake(pass, fail);
        if let EventBody::Flake(flake) = &mut event.body {
            flake.patterns = names.iter().map(|name| key(name)).collect();
        }
        event
    };
    store.append(&[flaky(1, 2, &["alpha"]), flaky(1, 4, &["alpha"])]).expect("appends");
    assert_eq!(numbers(store.index(), RUNS), [4, 1, 2], "bravo failed in run 2 all the same");
    assert_eq!(numbers(store.index(), first), [1, 1], "the first run of the other task counts for nothing");
    let alpha = format!(
        "SELECT failures, tasks, flaky FROM pattern_figures JOIN patterns USING (pattern_no) WHERE pattern_key = '{}'",
        key("alpha")
    );
    assert_eq!(numbers(store.index(), &alpha), [0, 0, 2]);
    assert_sums(store.index());
}

#[test]
fn a_pass_of_a_weakened_check_is_neither_passed_nor_failed() {
    let dir = folder();
    let mut store = open(dir.path());
    store.append(&[failed_run(1, "one", &["alpha"]), passed_run(2, "one")]).expect("appends");
    assert_eq!(numbers(store.index(), RUNS), [2, 1, 0]);
    let mut weakened = attempt(1, 2, AttemptOutcome::Success);
    if let EventBody::Attempt(attempt) = &mut weakened.body {
        attempt.weakened = vec![weakened_mark()];
    }
    store.append(&[weakened]).expect("appends");
    assert_eq!(numbers(store.index(), RUNS), [2, 1, 1]);
    let fixes = "SELECT sum(state = 'weakened'), sum(state = 'success') FROM fix_figures";
    assert_eq!(numbers(store.index(), fixes), [1, 0]);
    assert_sums(store.index());
}

#[test]
fn a_failure_is_open_until_a_pass_on_its_branch_or_a_fix_in_whatever_order_they_come() {
    let open_failures = "SELECT count(*) FROM open_failures";
    let events = [
        failed_run(1, "one", &["alpha"]),
        failed_run(2, "one", &["alpha"]),
        attempt(1, 3, AttemptOutcome::Partial),
        failed_run(4, "one", &["bravo"]),
        attempt(2, 5, AttemptOutcome::Success),
        passed_run(5, "one"),
        failed_run(6, "two", &["alpha"]),
    ];
    let mut counts = Vec::new();
    for order in [[0, 1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1, 0], [4, 0, 6, 1, 5, 3, 2]] {
        let dir = folder();
        let mut store = open(dir.path());
        for at in order {
            store.append(&[events[at].clone()]).expect("appends");
            assert_sums(store.index());
        }
        counts.push(numbers::<1>(store.index(), open_failures));
    }
    assert_eq!(counts, [[1]; 3], "the last one, which nothing came after");
}

#[test]
fn a_fix_counts_for_its_patterns_whichever_is_recorded_first() {
    let fixes = format!(
        "SELECT tried, fixed FROM pattern_figures JOIN patterns USING (pattern_no) WHERE pattern_key = '{}'",
        key("alpha")
    );
    let dir = folder();
    let mut store = open(dir.path());
    // A fix of an older version, whose key for alpha is not known.
    store.append(&[tried(1, 2, AttemptOutcome::Success, &[old_key("alpha")], &[])]).expect("appends");
    store.append(&[failed_run(3, "one", &["alpha"])]).expect("appends");
    assert_eq!(numbers(store.index(), &fixes), [0, 0]);
    store.append(&[old_failed_run(1, "one", &["alpha"])]).expect("appends");
    assert_eq!(numbers(store.index(), &fixes), [1, 1]);
    assert_sums(store.index());
    // In two attempts of one fix, it is one; a fix that weakened the check is none.
    let persisted = tried(3, 4, AttemptOutcome::Partial, &[key("bravo")], &[key("alpha")]);
    store.append(&[persisted, tried(3, 5, AttemptOutcome::Success, &[key("alpha")], &[])]).expect("appends");
    assert_eq!(numbers(store.index(), &fixes), [2, 2]);
    assert_sums(store.index());
    let mut weakened = tried(3, 6, AttemptOutcome::Success, &[key("alpha")], &[]);
    if let EventBody::Attempt(attempt) = &mut weakened.body {
        attempt.weakened = vec![weakened_mark()];
    }
    store.append(&[weakened]).expect("appends");
    assert_eq!(numbers(store.index(), &fixes), [1, 1]);
    assert_sums(store.index());
}

#[test]
fn merges_splits_and_purges_count_again_what_they_touch() {
    let dir = folder();
    let mut store = open(dir.path());
    let events = [
        failed_run(1, "one", &["alpha", "bravo"]),
        of_category(failed_run(2, "two", &["bravo"]), "lint_error"),
        failed_run(3, "two", &["alpha"]),
        days_later(failed_run(4, "three", &["bravo"]), 2),
    ];
    store.append(&events).expect("appends");
    let groups = "SELECT count(*), max(failures), max(tasks) FROM pattern_figures";
    assert_eq!(numbers(store.index(), groups), [2, 3, 3]);
    store.append(&[merge(10, &key("alpha"), &key("bravo"), None)]).expect("appends");
    assert_eq!(numbers(store.index(), groups), [1, 4, 3], "a failure with both is one");
    assert_sums(store.index());
    store.append(&[split(11, &key("alpha"))]).expect("appends");
    assert_eq!(numbers(store.index(), groups), [2, 3, 3]);
    assert_sums(store.index());
    store.append(&[Event::new(Timestamp(0), "w", EventBody::Purge(Purge { runs: vec![run_id(2)] }))]).expect("appends");
    assert_eq!(numbers(store.index(), groups), [2, 2, 2]);
    assert_sums(store.index());
}
