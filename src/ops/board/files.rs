//! In which files and folders something fails, of those that are changed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Board;
use super::filter::{AppliedFilter, BoardFilter, BoardPeriod};
use crate::base::clock::UtcDay;
use crate::pattern::statistics::{round_to_thousandth, wilson_bound};
use crate::pattern::wording::brief_pattern_name;
use crate::store::{StoreError, TaskFileRow};

/// Weeks of a row, unless the days were asked for.
const WEEKS: i64 = 5;
/// Weeks of a row at most.
const WEEKS_MAX: i64 = 26;
/// Rows of the list.
const ROWS_MAX: usize = 200;
/// Half the width of a 90 % interval, in standard deviations.
const Z_90: f64 = 1.645;

/// Where something fails.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FileHeat {
    /// What it is restricted to.
    pub filter: AppliedFilter,
    /// The days that it is about: whole weeks.
    pub period: BoardPeriod,
    /// The first day of each week.
    pub weeks: Vec<UtcDay>,
    /// Folders (with a `/` at the end) and files, those in which a change most reliably fails first.
    pub rows: Vec<HeatRow>,
    /// Rows beyond the limit.
    pub more: usize,
}

/// A file or folder.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HeatRow {
    /// Relative to the root.
    pub path: String,
    /// Distinct tasks that changed it.
    pub changed: u64,
    /// Distinct tasks in which something failed in it.
    pub failed: u64,
    /// The lower bound of the share of failing tasks, of those that changed it or failed in it.
    pub lower_bound: f64,
    /// Distinct tasks that failed in it, in each week.
    pub weeks: Vec<u64>,
    /// `p-…` of the pattern that failed in it in the most tasks.
    pub pattern: Option<String>,
    /// Its name.
    pub pattern_name: Option<String>,
}

/// What is known of a path.
#[derive(Default)]
struct PathTasks {
    touched: BTreeSet<i64>,
    failed: BTreeSet<i64>,
    weeks: BTreeMap<usize, BTreeSet<i64>>,
    patterns: BTreeMap<i64, BTreeSet<i64>>,
    changed: BTreeSet<i64>,
}

impl Board<'_> {
    /// Where something fails.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn files(&self, filter: &BoardFilter) -> Result<FileHeat, StoreError> {
        let period = self.weeks_of(filter);
        let weeks = usize::try_from(period.days / 7).unwrap_or(0);
        let mut paths = TaskPaths::default();
        self.index().visit_files_of_tasks(period.from.begins(), &filter.whom, |row| {
            if row.day <= period.to {
                paths.add(row, period.from);
            }
        })?;
        let mut ranked: Vec<(f64, String, PathTasks)> = paths
            .0
            .into_iter()
            .filter(|(_, known)| !known.failed.is_empty())
            .map(|(path, known)| {
                (wilson_bound(known.failed.len() as u64, known.touched.len() as u64, Z_90), path, known)
            })
            .collect();
        ranked.sort_by(|a, b| {
            b.0.total_cmp(&a.0).then_with(|| b.2.failed.len().cmp(&a.2.failed.len())).then(a.1.cmp(&b.1))
        });
        let more = ranked.len().saturating_sub(ROWS_MAX);
        ranked.truncate(ROWS_MAX);
        let rows = ranked.into_iter().map(|(bound, path, known)| self.heat_row(bound, path, &known, weeks));
        Ok(FileHeat {
            filter: filter.applied(),
            weeks: (0..weeks as i64).map(|week| UtcDay(period.from.0 + 7 * week)).collect(),
            rows: rows.collect::<Result<_, _>>()?,
            period,
            more,
        })
    }

    /// Whole weeks up to the last day of a filter.
    fn weeks_of(&self, filter: &BoardFilter) -> BoardPeriod {
        let period = self.period(filter);
        let days = i64::try_from(period.days).unwrap_or(i64::MAX);
        let weeks = filter.from.map_or(WEEKS, |_| ((days + 6) / 7).clamp(1, WEEKS_MAX));
        BoardPeriod::new(UtcDay(period.to.0 + 1 - 7 * weeks), period.to)
    }

    fn heat_row(&self, bound: f64, path: String, known: &PathTasks, weeks: usize) -> Result<HeatRow, StoreError> {
        let most = known.patterns.iter().max_by_key(|(number, tasks)| (tasks.len(), std::cmp::Reverse(**number)));
        let pattern = most.map(|(number, _)| self.index().brief_of_pattern(*number)).transpose()?;
        let in_week = |week| known.weeks.get(&week).map_or(0, |tasks| tasks.len() as u64);
        Ok(HeatRow {
            path,
            changed: known.changed.len() as u64,
            failed: known.failed.len() as u64,
            lower_bound: round_to_thousandth(bound),
            weeks: (0..weeks).map(in_week).collect(),
            pattern_name: pattern.as_ref().map(brief_pattern_name),
            pattern: pattern.map(|row| row.id),
        })
    }
}

/// Files, and every folder around them, with the tasks that changed them and failed in them.
#[derive(Default)]
struct TaskPaths(BTreeMap<String, PathTasks>);

impl TaskPaths {
    fn add(&mut self, row: &TaskFileRow<'_>, from: UtcDay) {
        let folders = row.path.match_indices('/').map(|(at, _)| &row.path[..=at]);
        for path in folders.chain([row.path]) {
            if !self.0.contains_key(path) {
                self.0.insert(path.to_owned(), PathTasks::default());
            }
            let Some(known) = self.0.get_mut(path) else { continue };
            known.touched.insert(row.task);
            if !row.failed {
                known.changed.insert(row.task);
                continue;
            }
            known.failed.insert(row.task);
            let week = usize::try_from((row.day.0 - from.0) / 7).unwrap_or(0);
            known.weeks.entry(week).or_default().insert(row.task);
            if let Some(pattern) = row.pattern {
                known.patterns.entry(pattern).or_default().insert(row.task);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_the_distinct_tasks_of_its_files() {
        let row = |path, task, day, failed: bool| TaskFileRow {
            path,
            task,
            day: UtcDay(day),
            failed,
            pattern: failed.then_some(task % 2),
        };
        let rows = [
            row("src/db/a.py", 1, 0, true),
            row("src/db/b.py", 1, 8, true),
            row("src/db/b.py", 2, 9, false),
            row("src/c.py", 3, 1, true),
        ];
        let mut paths = TaskPaths::default();
        rows.iter().for_each(|row| paths.add(row, UtcDay(0)));
        let of = |path: &str| {
            let known = &paths.0[path];
            (known.touched.len(), known.changed.len(), known.failed.len(), known.weeks.len())
        };
        assert_eq!(of("src/"), (3, 1, 2, 2));
        assert_eq!(of("src/db/"), (2, 1, 1, 2), "one task failed in it, in two weeks");
        assert_eq!(of("src/db/b.py"), (2, 1, 1, 1));
        assert_eq!(paths.0.len(), 5);
    }
}
