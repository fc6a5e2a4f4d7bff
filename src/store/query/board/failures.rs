//! Failures of all work trees, filtered, page by page.

use rusqlite::{Row, ToSql};

use crate::base::clock::{Timestamp, UtcDay};
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::query::figures::{DayRange, SumFilter, start_of_day};
use crate::store::query::pattern::GROUP;
use crate::store::query::recent::FailureRow;
use crate::store::query::{row_time, row_unsigned};

/// Failures of one page that are looked at for a text; what is beyond is the next page's.
const LOOKED_AT_MAX: usize = 5_000;
/// Failures in a file or folder below which they are looked up there, not looked for among all.
const FILE_FAILURES_MAX: u64 = 5_000;

/// Which failures a list has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum FailureScope {
    /// Those that rates count.
    #[default]
    Counted,
    /// Those that no rate counts: cancelled runs and proven flakes.
    Uncounted,
    /// Those that count and that nothing resolved.
    Open,
}

/// Which failures to list. Absent fields match all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FailureFilter {
    pub scope: FailureScope,
    /// UTC days of the start of the run.
    pub days: Option<DayRange>,
    pub whom: SumFilter,
    pub task: Option<String>,
    /// Row number of the pattern that represents its group. Where it is a proven flake it is left out, whatever the scope;
    /// cancelled runs are among the failures of a pattern.
    pub pattern: Option<i64>,
    /// A file that is affected, or a folder around one.
    pub file: Option<String>,
    /// A part of its first message or command, in any case.
    pub text: Option<String>,
}

/// Where a list goes on: when the last failing run was started, and its id.
pub(crate) type FailureMark = (Timestamp, String);

/// A part of a list of failures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FailureRowsPage {
    /// The newest first.
    pub failures: Vec<FailureRow>,
    /// Where it goes on; `None` at the end.
    pub next: Option<FailureMark>,
}

/// A statement that is put together.
#[derive(Default)]
struct FailureStatement {
    conditions: Vec<String>,
    parameters: Vec<Box<dyn ToSql>>,
}

impl FailureStatement {
    /// The number of a parameter.
    fn bind(&mut self, parameter: impl ToSql + 'static) -> usize {
        self.parameters.push(Box::new(parameter));
        self.parameters.len()
    }

    /// Adds a condition in which `?` is the parameter.
    fn push(&mut self, condition: &str, parameter: impl ToSql + 'static) {
        let number = self.bind(parameter);
        self.conditions.push(condition.replace('?', &format!("?{number}")));
    }

    fn bound(&self) -> Vec<&dyn ToSql> {
        self.parameters.iter().map(AsRef::as_ref).collect()
    }
}

/// A page while it is filled.
struct PageInProgress {
    page: FailureRowsPage,
    limit: usize,
    looked_at: usize,
}

impl PageInProgress {
    fn is_full(&self) -> bool {
        self.page.failures.len() >= self.limit || self.looked_at >= LOOKED_AT_MAX
    }
}

impl Index {
    /// The failures of a filter, the newest first, at most `limit`, from `after` on.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn list_failures(
        &self,
        filter: &FailureFilter,
        after: Option<&FailureMark>,
        limit: usize,
    ) -> Result<FailureRowsPage, StoreError> {
        let mut filling = PageInProgress { page: FailureRowsPage::default(), limit, looked_at: 0 };
        let mut read = || {
            if !is_rare(filter) {
                return self.add_failures(&mut filling, filter, filter.days, after);
            }
            // The sums say on which days there are any: all others are passed over.
            let mut last = None;
            for day in self.days_with_failures(filter, after)? {
                // A page that was full at the end of a day goes on with the days before.
                if filling.is_full() {
                    filling.page.next = last;
                    break;
                }
                let range = DayRange { from: day, until: UtcDay(day.0 + 1) };
                self.add_failures(&mut filling, filter, Some(range), after)?;
                if filling.page.next.is_some() {
                    break;
                }
                // Nothing of this day is left; the smallest id is before every run.
                last = Some((day.begins(), String::new()));
            }
            Ok(())
        };
        let result = read();
        self.sql_result("read", result)?;
        Ok(filling.page)
    }

    /// The days on which something failed that a filter may list, the newest first.
    fn days_with_failures(&self, filter: &FailureFilter, after: Option<&FailureMark>) -> rusqlite::Result<Vec<UtcDay>> {
        let mut query = FailureStatement::default();
        let whom = &filter.whom;
        for (condition, name) in [
            ("category_no = (SELECT name_no FROM names WHERE name = ?)", &whom.category),
            ("agent_no = (SELECT name_no FROM names WHERE name = ?)", &whom.agent),
            ("tool_no IN (SELECT name_no FROM names WHERE name = ? OR name LIKE '%:' || ?)", &whom.tool),
        ] {
            if let Some(name) = name {
                query.push(condition, name.clone());
            }
        }
        if let Some(days) = filter.days {
            query.push("day >= ?", days.from.0);
            query.push("day < ?", days.until.0);
        }
        if let Some((at, _)) = after {
            query.push("day <= ?", UtcDay::of(*at).0);
        }
        let sql =
            format!("SELECT DISTINCT day FROM failure_days WHERE {} ORDER BY day DESC", query.conditions.join(" AND "));
        let mut statement = self.connection.prepare_cached(&sql)?;
        let rows = statement.query_map(&*query.bound(), |row| row.get(0).map(UtcDay))?;
        rows.collect()
    }

    /// Adds the failures of a range of days to a page.
    fn add_failures(
        &self,
        filling: &mut PageInProgress,
        filter: &FailureFilter,
        days: Option<DayRange>,
        after: Option<&FailureMark>,
    ) -> rusqlite::Result<()> {
        let (sql, query) = self.failure_statement(filter, days, after)?;
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(&*query.bound())?;
        let text = filter.text.as_ref().map(|text| text.to_lowercase());
        let mut last = None;
        while let Some(row) = rows.next()? {
            // There is one more.
            if filling.is_full() {
                filling.page.next = last;
                break;
            }
            filling.looked_at += 1;
            last = Some((row_time(row, 1)?, row.get(2)?));
            if text.as_ref().is_some_and(|text| !has_text(row, text)) {
                continue;
            }
            filling.page.failures.push(self.failure_details(row.get(0)?)?);
        }
        Ok(())
    }

    fn failure_statement(
        &self,
        filter: &FailureFilter,
        days: Option<DayRange>,
        after: Option<&FailureMark>,
    ) -> rusqlite::Result<(String, FailureStatement)> {
        let mut query = FailureStatement::default();
        let (mut head, mut runs) = (String::new(), "runs r INDEXED BY failed_runs_by_time");
        if let Some(pattern) = filter.pattern {
            // The first parameter, which the members are looked up with.
            query.bind(pattern);
            query.conditions.push(
                "failure_no IN (SELECT failure_no FROM members CROSS JOIN occurrences USING (pattern_no)
                                WHERE NOT flaky)"
                    .into(),
            );
            (head, runs) = (GROUP.to_owned(), "runs r");
        } else {
            let counts = filter.scope != FailureScope::Uncounted;
            query.conditions.push(format!("uncounted IS {}NULL", if counts { "" } else { "NOT " }));
        }
        if let Some(task) = &filter.task {
            query.push("r.task_no = (SELECT task_no FROM tasks WHERE name = ?)", task.clone());
            runs = "runs r";
        }
        if let Some(file) = &filter.file {
            let of_file = "SELECT failure_no FROM failure_files WHERE path = ?1
                           UNION SELECT failure_no FROM failure_files WHERE path >= ?1 || '/' AND path < ?1 || '0'";
            let count = format!("SELECT count(*) FROM (SELECT 1 FROM ({of_file}) LIMIT {FILE_FAILURES_MAX})");
            let few = self.connection.prepare_cached(&count)?.query_row([file], |row| row_unsigned(row, 0))?;
            if few < FILE_FAILURES_MAX {
                query.push(&format!("failure_no IN ({})", of_file.replace("?1", "?")), file.clone());
                runs = "runs r";
            } else {
                query.push(
                    "EXISTS (SELECT 1 FROM failure_files l WHERE l.failure_no = f.failure_no
                             AND (path = ? OR path >= ? || '/' AND path < ? || '0'))",
                    file.clone(),
                );
            }
        }
        let whom = &filter.whom;
        for (condition, name) in [
            ("f.category = ?", &whom.category),
            ("r.agent = ?", &whom.agent),
            ("(coalesce(tool, check_kind) = ? OR coalesce(tool, check_kind) LIKE '%:' || ?)", &whom.tool),
        ] {
            if let Some(name) = name {
                query.push(condition, name.clone());
            }
        }
        if let Some(days) = days {
            query.push("r.started_at >= ?", start_of_day(days.from));
            query.push("r.started_at < ?", start_of_day(days.until));
        }
        if let Some((at, run)) = after {
            let (at, run) = (query.bind(at.rfc3339()), query.bind(run.clone()));
            let after = format!("r.started_at <= ?{at} AND (r.started_at < ?{at} OR r.run_id < ?{run})");
            query.conditions.push(after);
        }
        query.conditions.push("NOT r.passed".into());
        let tables = match filter.scope {
            // Few of all.
            FailureScope::Open => {
                "open_failures CROSS JOIN failures f USING (failure_no) CROSS JOIN runs r USING (run_id)".to_owned()
            }
            FailureScope::Counted | FailureScope::Uncounted => format!("{runs} JOIN failures f USING (run_id)"),
        };
        let sql = format!(
            "{head} SELECT failure_no, r.started_at, r.run_id, summary, argv FROM {tables}
             WHERE {} ORDER BY r.started_at DESC, r.run_id DESC",
            query.conditions.join(" AND ")
        );
        Ok((sql, query))
    }
}

/// Whether few failures of all may fit, and the sums know when they were.
fn is_rare(filter: &FailureFilter) -> bool {
    let FailureFilter { whom, scope, .. } = filter;
    *scope == FailureScope::Counted
        && (whom.category.is_some() || whom.agent.is_some() || whom.tool.is_some())
        && filter.task.is_none()
        && filter.pattern.is_none()
}

/// Whether the message or the command of a row has a text, lower case.
fn has_text(row: &Row<'_>, text: &str) -> bool {
    let has = |column: usize| row.get::<_, String>(column).is_ok_and(|value| value.to_lowercase().contains(text));
    has(3) || has(4)
}
