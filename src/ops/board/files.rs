//! In which files and folders something fails, of those that are changed.

use std::collections::BTreeMap;
use std::ops::Range;

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
        let mut ranked: Vec<RankedPath<'_>> = paths.places().into_iter().filter_map(RankedPath::new).collect();
        ranked.sort_by(|a, b| {
            b.bound.total_cmp(&a.bound).then(b.failed.cmp(&a.failed)).then_with(|| a.place.path.cmp(b.place.path))
        });
        let more = ranked.len().saturating_sub(ROWS_MAX);
        ranked.truncate(ROWS_MAX);
        let rows = ranked.into_iter().map(|ranked| self.heat_row(&ranked, weeks));
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

    fn heat_row(&self, ranked: &RankedPath<'_>, weeks: usize) -> Result<HeatRow, StoreError> {
        let place = &ranked.place;
        let patterns = place.count_tasks_by(|row| row.pattern);
        let most = patterns.iter().max_by_key(|(number, tasks)| (**tasks, std::cmp::Reverse(**number)));
        let pattern = most.map(|(number, _)| self.index().brief_of_pattern(*number)).transpose()?;
        let failed = place.count_tasks_by(|row| row.failed_in);
        Ok(HeatRow {
            path: place.path.to_owned(),
            changed: place.count_tasks(|row| row.failed_in.is_none()),
            failed: ranked.failed,
            lower_bound: round_to_thousandth(ranked.bound),
            weeks: (0..weeks).map(|week| failed.get(&week).copied().unwrap_or(0)).collect(),
            pattern_name: pattern.as_ref().map(brief_pattern_name),
            pattern: pattern.map(|row| row.id),
        })
    }
}

/// A task that changed a file, or failed in it.
#[derive(Debug, Clone, Copy)]
struct PathRow {
    /// Which file, by [`TaskPaths::numbers`].
    file: usize,
    task: i64,
    /// The week in which it failed; `None` when it changed the file.
    failed_in: Option<usize>,
    pattern: Option<i64>,
}

/// Files with the tasks that changed them and failed in them, as they are read. One list for all of them: sets of each path
/// take several times the memory, in pieces that are not given back to the system.
#[derive(Default)]
struct TaskPaths {
    numbers: BTreeMap<String, usize>,
    rows: Vec<PathRow>,
}

impl TaskPaths {
    fn add(&mut self, row: &TaskFileRow<'_>, from: UtcDay) {
        let file = self.numbers.get(row.path).copied().unwrap_or_else(|| {
            let number = self.numbers.len();
            self.numbers.insert(row.path.to_owned(), number);
            number
        });
        let failed_in = row.failed.then(|| usize::try_from((row.day.0 - from.0) / 7).unwrap_or(0));
        self.rows.push(PathRow { file, task: row.task, failed_in, pattern: row.pattern });
    }

    /// All files, and all folders around them. The files of a folder follow each other in the order of their paths.
    fn places(&mut self) -> Vec<PlaceRows<'_>> {
        let mut order = vec![0; self.numbers.len()];
        for (at, number) in self.numbers.values().enumerate() {
            order[*number] = at;
        }
        self.rows.sort_unstable_by_key(|row| order[row.file]);
        let mut places = Vec::new();
        let mut folders: Vec<(&str, usize)> = Vec::new();
        let mut at = 0;
        let rows = |range: Range<usize>| &self.rows[range];
        for (path, number) in &self.numbers {
            while let Some((folder, start)) = folders.pop_if(|(folder, _)| !path.starts_with(*folder)) {
                places.push(PlaceRows { path: folder, rows: rows(start..at) });
            }
            let known = folders.len();
            folders.extend(path.match_indices('/').skip(known).map(|(end, _)| (&path[..=end], at)));
            let count = self.rows[at..].iter().take_while(|row| row.file == *number).count();
            places.push(PlaceRows { path, rows: rows(at..at + count) });
            at += count;
        }
        places.extend(folders.into_iter().map(|(folder, start)| PlaceRows { path: folder, rows: rows(start..at) }));
        places
    }
}

/// A file or folder, with the rows of its files.
#[derive(Debug, Clone, Copy)]
struct PlaceRows<'a> {
    path: &'a str,
    rows: &'a [PathRow],
}

impl PlaceRows<'_> {
    /// Distinct tasks of some of its rows.
    fn count_tasks(&self, which: impl Fn(&PathRow) -> bool) -> u64 {
        self.count_tasks_by(|row| which(row).then_some(())).get(&()).copied().unwrap_or(0)
    }

    /// Distinct tasks by what `key` says of their rows; rows without a key are left out.
    fn count_tasks_by<K: Ord + Copy>(&self, key: impl Fn(&PathRow) -> Option<K>) -> BTreeMap<K, u64> {
        let mut keyed: Vec<(K, i64)> = self.rows.iter().filter_map(|row| Some((key(row)?, row.task))).collect();
        keyed.sort_unstable();
        keyed.dedup();
        let counts = keyed.chunk_by(|a, b| a.0 == b.0);
        counts.filter_map(|tasks| Some((tasks.first()?.0, tasks.len() as u64))).collect()
    }
}

/// A file or folder in which something failed.
struct RankedPath<'a> {
    place: PlaceRows<'a>,
    /// Distinct tasks in which something failed in it.
    failed: u64,
    /// The lower bound of their share.
    bound: f64,
}

impl<'a> RankedPath<'a> {
    /// `None` when nothing failed in it.
    fn new(place: PlaceRows<'a>) -> Option<Self> {
        let failed = place.count_tasks(|row| row.failed_in.is_some());
        let touched = place.count_tasks(|_| true);
        (failed > 0).then(|| RankedPath { place, failed, bound: wilson_bound(failed, touched, Z_90) })
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
        let places = paths.places();
        let of = |path: &str| {
            let place = places.iter().find(|place| place.path == path).unwrap();
            let failed = |row: &PathRow| row.failed_in.is_some();
            let weeks = place.count_tasks_by(|row| row.failed_in);
            (place.count_tasks(|_| true), place.count_tasks(|row| !failed(row)), place.count_tasks(failed), weeks.len())
        };
        assert_eq!(of("src/"), (3, 1, 2, 2));
        assert_eq!(of("src/db/"), (2, 1, 1, 2), "one task failed in it, in two weeks");
        assert_eq!(of("src/db/b.py"), (2, 1, 1, 1));
        assert_eq!(of("src/c.py"), (1, 0, 1, 1));
        assert_eq!(places.len(), 5);
    }

    #[test]
    fn a_folder_ends_where_its_files_end() {
        let rows = ["lib/a/x", "lib/a-b", "lib/a.py", "lib/ab/y", "lib/a/z/q", "lib", "z", "a/z"];
        let mut paths = TaskPaths::default();
        for (task, path) in (0..).zip(rows) {
            paths.add(&TaskFileRow { path, task, day: UtcDay(0), failed: true, pattern: None }, UtcDay(0));
        }
        let mut found: Vec<_> =
            paths.places().iter().map(|place| (place.path.to_owned(), place.count_tasks(|_| true))).collect();
        found.sort();
        let mut wanted = std::collections::BTreeMap::new();
        for path in rows {
            let folders = path.match_indices('/').map(|(at, _)| &path[..=at]);
            folders.chain([path]).for_each(|path| *wanted.entry(path.to_owned()).or_insert(0) += 1);
        }
        assert_eq!(found, wanted.into_iter().collect::<Vec<_>>());
    }
}
