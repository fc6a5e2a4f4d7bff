//! Interleaved output distinguished: task runners put the task's name before every line.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use memchr::memchr;
use memchr::memmem::Finder;

use crate::base::text::{is_blank, lines, prefix};

use super::engine::severity_of_word;

/// The lines of each stream with the byte where their own text starts; every line is in exactly one stream.
pub(super) fn split_streams(lines: &[&str]) -> Vec<Vec<(usize, usize)>> {
    let prefixes = LinePrefixes::find_prefixes(lines);
    let mut streams: Vec<Vec<(usize, usize)>> = vec![Vec::new()];
    let mut index_of: HashMap<&str, usize> = HashMap::new();
    let mut opened = "";
    for (index, line) in lines.iter().enumerate() {
        let from = prefixes.prefix_length(line);
        let name = line[..from].trim_end();
        // What is drawn below a task's header is that task's.
        let is_drawn = name == DRAWN;
        if matches!(prefixes, LinePrefixes::Names(_)) && !is_drawn && announced_name(line).is_some() {
            opened = line;
        }
        let stream = match prefixes {
            LinePrefixes::Names(_) | LinePrefixes::Bracket | LinePrefixes::Bar if from > 0 => {
                *index_of.entry(if is_drawn { opened } else { name }).or_insert_with(|| {
                    streams.push(Vec::new());
                    streams.len() - 1
                })
            }
            _ => 0,
        };
        streams[stream].push((index, from));
    }
    streams
}

/// `text` without the time that a CI log or a container's puts before every line; unchanged where fewer than four of
/// five lines have one. What a runner names before the time stays: it tells jobs apart.
///
/// With what was before each line, where there was something: people want to see it all the same.
pub(super) fn without_times(text: Cow<'_, str>) -> (Cow<'_, str>, Vec<String>) {
    let filled = || lines(&text).filter(|line| !is_blank(line));
    let length = |line: &str| time_at(line).unwrap_or(0);
    if !filled().take(LINES_TO_TELL).any(|line| length(line) > 0) {
        return (text, Vec::new());
    }
    let all = filled().count();
    if filled().filter(|line| length(line) == 0).count() > all / 5 {
        return (text, Vec::new());
    }
    let (mut told, mut times) = (String::with_capacity(text.len()), Vec::new());
    for line in lines(&text) {
        let (time, rest) = line.split_at(length(line));
        times.push(time.to_owned());
        told.push_str(rest);
        told.push('\n');
    }
    (Cow::Owned(told), times)
}

/// Lines of which one has a time where nearly all have.
const LINES_TO_TELL: usize = 3;

/// The prefixes of an output's lines.
enum LinePrefixes {
    None,
    /// `@acme/api:lint: ` (turbo), `packages/api lint: ` (pnpm): names that a header line announced.
    Names(Vec<String>),
    /// `[0] `, `[api] ` (concurrently).
    Bracket,
    /// `web-1  | ` (docker compose).
    Bar,
    /// `2026-03-04T12:30:00.000Z ` (CI logs), maybe behind `job<TAB>step<TAB>`.
    Time,
}

impl LinePrefixes {
    fn find_prefixes(lines: &[&str]) -> Self {
        let mut names: Vec<String> = lines.iter().filter_map(|line| announced_name(line)).collect();
        names.extend(repeated_names(lines));
        if !names.is_empty() {
            names.sort_unstable();
            names.dedup();
            return LinePrefixes::Names(names);
        }
        let filled = lines.iter().filter(|line| !is_blank(line)).count();
        let most = |length: fn(&str) -> usize| {
            // Whether more than a fifth are without is mostly known long before the end.
            let without = lines.iter().filter(|line| !is_blank(line) && length(line) == 0);
            filled >= 3 && without.take(filled / 5 + 1).count() <= filled / 5
        };
        if most(time_length) {
            LinePrefixes::Time
        } else if most(bar_length) {
            LinePrefixes::Bar
        } else if most(bracket_length)
            && (are_tasks(lines) || lines.iter().any(|line| EXITED.find(line.as_bytes()).is_some()))
        {
            LinePrefixes::Bracket
        } else {
            LinePrefixes::None
        }
    }

    fn prefix_length(&self, line: &str) -> usize {
        match self {
            LinePrefixes::None => 0,
            LinePrefixes::Names(names) => {
                let fits = names.iter().filter(|name| line.starts_with(name.as_str()));
                let length = fits.map(String::len).max().unwrap_or(0);
                let length = if length == 0 && line.starts_with(DRAWN) { DRAWN.len() } else { length };
                length + usize::from(length > 0 && line[length..].starts_with(' '))
            }
            LinePrefixes::Bracket => bracket_length(line),
            LinePrefixes::Bar => bar_length(line),
            LinePrefixes::Time => time_length(line),
        }
    }
}

/// What a runner says of a task that ended.
static EXITED: LazyLock<Finder> = LazyLock::new(|| Finder::new(" exited with code "));

/// The prefix that a task runner's header line announces.
fn announced_name(line: &str) -> Option<String> {
    let line = prefix(line, NAMES_BYTES_MAX);
    static CACHE: LazyLock<Finder> = LazyLock::new(|| Finder::new(": cache "));
    static SHELL: LazyLock<Finder> = LazyLock::new(|| Finder::new("$ "));
    if let Some(at) = CACHE.find(line.as_bytes()) {
        let (name, rest) = (&line[..at], &line[at + ": cache ".len()..]);
        let turbo = rest.starts_with("miss") || rest.starts_with("hit") || rest.starts_with("bypass");
        let task = name.rsplit_once(':').is_some_and(|(_, task)| !task.starts_with(|c: char| c.is_ascii_digit()));
        return (turbo && task && !name.contains(' ')).then(|| format!("{name}:"));
    }
    let name = &line[..SHELL.find(line.as_bytes())?];
    let (folder, task) = name.split_once(' ')?;
    let pnpm = !folder.is_empty() && !task.is_empty() && !task.contains(' ') && !folder.contains(['=', '(', '{', '"']);
    (pnpm && (folder.contains('/') || folder == ".")).then(|| format!("{name}:"))
}

/// The prefixes of folder and task that several lines have, where a terminal's redrawing left none of their headers.
fn repeated_names(lines: &[&str]) -> Vec<String> {
    let mut times: HashMap<&str, usize> = HashMap::new();
    for line in lines {
        let line = prefix(line, NAMES_BYTES_MAX);
        let Some(blank) = memchr(b' ', line.as_bytes()) else { continue };
        let (folder, rest) = (&line[..blank], &line[blank + 1..]);
        if memchr(b'/', folder.as_bytes()).is_none() || folder.ends_with(':') {
            continue;
        }
        let Some((task, _)) = rest.split_once(": ") else { continue };
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"@/_:-".contains(&byte));
        let is_task = task.starts_with(|c: char| c.is_ascii_lowercase()) && severity_of_word(task).is_none();
        if plain(folder) && plain(task) && is_task {
            *times.entry(&line[..=blank + 1 + task.len()]).or_default() += 1;
        }
    }
    let often = times.into_iter().filter(|(_, times)| *times >= REPEATED_MIN);
    often.map(|(name, _)| name.to_owned()).collect()
}

/// Whether the labels in brackets are names of tasks (`[typecheck]`): few, each of several lines, and none says how bad.
fn are_tasks(lines: &[&str]) -> bool {
    let mut times: HashMap<&str, usize> = HashMap::new();
    for line in lines {
        let label = &line[..bracket_length(line)];
        if !label.is_empty() {
            *times.entry(label.trim_matches(['[', ']', ' '])).or_default() += 1;
        }
        if times.len() > TASKS_MAX {
            return false;
        }
    }
    let is_task = |(label, times): (&&str, &usize)| {
        *times >= REPEATED_MIN
            && label.starts_with(|c: char| c.is_ascii_lowercase())
            && severity_of_word(label).is_none()
    };
    times.iter().all(is_task)
}

/// What precedes the lines below a task's header.
const DRAWN: &str = "│";
/// Lines that begin alike where no header says that it is a task's name.
const REPEATED_MIN: usize = 3;
/// Tasks that run beside each other.
const TASKS_MAX: usize = 16;

fn bracket_length(line: &str) -> usize {
    if !line.starts_with('[') {
        return 0;
    }
    static CLOSES: LazyLock<Finder> = LazyLock::new(|| Finder::new("] "));
    let line = prefix(line, NAMES_BYTES_MAX);
    match CLOSES.find(line.as_bytes()) {
        Some(end) if !line[..end].trim_end().contains(' ') => end + 2,
        _ => 0,
    }
}

fn bar_length(line: &str) -> usize {
    let line = prefix(line, NAMES_BYTES_MAX);
    static BAR: LazyLock<Finder> = LazyLock::new(|| Finder::new(" | "));
    match BAR.find(line.as_bytes()) {
        Some(at)
            if at > 0
                && !line[..at].trim_end().contains(' ')
                && line.starts_with(|c: char| c.is_ascii_alphabetic()) =>
        {
            at + 3
        }
        _ => 0,
    }
}

fn time_length(line: &str) -> usize {
    // Logs of several jobs name job and step before it, parted by tabs.
    let tabs = line.match_indices('\t').take(2).map(|(tab, _)| tab + 1).take_while(|&at| at < NAMES_BYTES_MAX);
    let mut starts = std::iter::once(0).chain(tabs);
    starts.find_map(|at| Some(at + time_at(&line[at..])?)).unwrap_or(0)
}

/// The length of a time with the space behind it: `2026-03-04T12:30:00.12Z`, `[12:30:00]`, `Mar  4 12:30:00`.
fn time_at(text: &str) -> Option<usize> {
    /// What precedes the time of day: `0` is a digit, `A` and `a` are letters.
    const DATES: [&str; 4] = ["0000-00-00T", "0000-00-00 ", "Aaa 00 ", "Aaa  0 "];
    let fits = |at: usize, shape: &str| {
        let bytes = text.as_bytes().get(at..at + shape.len());
        bytes.is_some_and(|bytes| {
            bytes.iter().zip(shape.bytes()).all(|(have, want)| match want {
                b'0' => have.is_ascii_digit(),
                b'A' => have.is_ascii_uppercase(),
                b'a' => have.is_ascii_lowercase(),
                _ => *have == want,
            })
        })
    };
    let opens = usize::from(text.starts_with('['));
    let clock = opens + DATES.iter().find(|date| fits(opens, date)).map_or(0, |date| date.len());
    if !fits(clock, "00:00:00") {
        return None;
    }
    // Parts of a second, and the zone.
    let more = text.bytes().skip(clock).take_while(|byte| byte.is_ascii_digit() || b":.,+-Z".contains(byte));
    let end = clock + more.count();
    let half = text.get(end..).is_some_and(|rest| rest.starts_with(" AM") || rest.starts_with(" PM"));
    let end = if half { end + 3 } else { end };
    let closed = (opens == 0 || text.as_bytes().get(end) == Some(&b']')).then_some(end + opens)?;
    // An empty line is a time alone.
    match text.as_bytes().get(closed) {
        None => (closed < TIME_BYTES_MAX).then_some(closed),
        Some(b' ') => (closed < TIME_BYTES_MAX).then_some(closed + 1),
        Some(_) => None,
    }
}

/// The longest time with the space behind it, bytes.
const TIME_BYTES_MAX: usize = 41;

/// What precedes a line's own text: the names of a job and a step, a folder and a task, bytes.
const NAMES_BYTES_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_is_a_stream_of_its_own() {
        let lines =
            ["• turbo", "api:lint: cache miss, executing 1", "api:lint: a", "web:lint: b", "web:lint: cache hit, 2"];
        let streams = split_streams(&lines);
        assert_eq!(streams.len(), 3);
        assert_eq!(streams[1], [(1, 10), (2, 10)]);
        assert_eq!(streams[2], [(3, 10), (4, 10)]);
    }

    #[test]
    fn times_before_all_lines_go_and_times_before_some_stay() {
        let all = "2026-03-04T12:30:00.1234567Z a\n2026-03-04T12:30:00.1234568Z\n2026-03-04T12:30:01+01:00   b\n";
        let (text, times) = without_times(all.into());
        assert_eq!(text, "a\n\n  b\n");
        let printed: String = times.iter().zip(text.lines()).map(|(time, line)| format!("{time}{line}\n")).collect();
        assert_eq!(printed, all);
        for time in [
            "[12:30:00]",
            "[12:30:00 PM]",
            "12:30:00.123",
            "[2026-03-04T12:30:00.1Z]",
            "2026-03-04 12:30:00,1",
            "Mar  4 12:30:00",
        ] {
            let (text, times) = without_times(format!("{time} a\n{time}   b\n{time}\n").into());
            assert_eq!((&*text, times[0].trim_end()), ("a\n  b\n\n", time));
        }
        for same in [
            "",
            "a\n",
            "2026-03-04T12:30:00Z a\nb\nc\n",
            "job\tstep\t2026-03-04T12:30:00Z a\n",
            "2026-03-04T12:30:00Z.log\n",
            "[12:30:00 a\n",
            "12:30:00am a\n",
        ] {
            assert_eq!(without_times(same.into()), (same.into(), Vec::new()));
        }
    }

    #[test]
    fn tasks_are_told_apart_without_headers_and_below_them() {
        let lines = ["web/app test: a", "web/api test: b", "web/app test: c", "web/app test: d"];
        assert_eq!(split_streams(&lines), [vec![(1, 0)], vec![(0, 14), (2, 14), (3, 14)]]);
        let lines = ["[lint ] a", "[types] b", "[lint ] c", "[types] d", "[types] e", "[lint ] f"];
        assert_eq!(split_streams(&lines)[1], [(0, 8), (2, 8), (5, 8)]);
        let lines = ["web/app test$ run", "│ a", "│ b", "└─ Failed", "web/api test$ run", "│ c"];
        assert_eq!(split_streams(&lines), [vec![(0, 0), (3, 0), (4, 0)], vec![(1, 4), (2, 4)], vec![(5, 4)]]);
        let lines = ["[error] a", "[error] b", "[error] c"];
        assert_eq!(split_streams(&lines).len(), 1, "a severity is no task");
    }

    #[test]
    fn ordinary_output_is_one_stream() {
        let lines = ["[error] a", "src/a.c:1: cache miss", "a | b", "x"];
        assert_eq!(split_streams(&lines), [vec![(0, 0), (1, 0), (2, 0), (3, 0)]]);
    }
}
