//! Lessons by the words in them.

use std::cmp::Reverse;
use std::path::PathBuf;

use serde::Serialize;

use super::lesson::{self, FoundLesson};
use super::reply::Reply;
use super::request::Request;
use crate::base::clock::Timestamp;
use crate::base::first_few::FirstFew;
use crate::base::text::{count, ellipsis, one_line};
use crate::base::words::normalised;
use crate::config::Places;
use crate::lesson::LessonFile;
use crate::pattern::statistics::round_to_thousandth;

/// Words of a question that are looked for.
const WORDS_MAX: usize = 20;
/// Lessons of one answer.
const LESSONS_MAX: usize = 50;
/// Files that are named of each.
const FILES_MAX: usize = 5;
/// A title, a path, bytes.
const LINE_BYTES_MAX: usize = 200;
/// A cause, a resolution, a rule, bytes.
const SAID_BYTES_MAX: usize = 500;
/// What a word adds where people wrote it, where it names what failed, and anywhere else.
const WEIGHTS: [f64; 3] = [3.0, 2.0, 1.0];

/// What a search of the lessons finds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LessonHits {
    /// Best match first.
    pub lessons: Vec<SearchHit>,
    /// How many more fit.
    pub more: usize,
}

/// A lesson that fits. Every text is one line without control characters.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SearchHit {
    /// `l-…`
    pub id: String,
    /// Its subject.
    pub title: String,
    /// Its file, relative to the root.
    pub file: PathBuf,
    /// When the run ended.
    pub recorded_at: Timestamp,
    /// The check.
    pub tool: String,
    /// Category of the failure.
    pub category: String,
    /// Affected files, up to five.
    pub files: Vec<String>,
    /// Why it happened, as recorded.
    pub cause: Option<String>,
    /// What made it go away, as recorded.
    pub resolution: Option<String>,
    /// What to do so that it does not happen again, as recorded.
    pub rule: Option<String>,
    /// How well it fits, 0 to 1; 0 where nothing was asked for.
    pub score: f64,
}

/// The lessons that have the words of `text`, the best first: those with more of the words, then those where people
/// wrote them, then the newest. Without words the newest. An id (`l-…`), or the start of one, finds its lesson.
pub(crate) fn search_lessons(request: &Request, text: &str, limit: usize) -> Reply<LessonHits> {
    let asked = text.trim().to_lowercase();
    let is_id = asked.strip_prefix("l-").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let words: Vec<String> = normalised(text).into_iter().take(WORDS_MAX).collect();
    let weigh = |found: &FoundLesson| match () {
        () if is_id => found.lesson.front.id.starts_with(&asked).then_some(1.0),
        () if words.is_empty() => asked.is_empty().then_some(0.0),
        () => match_score(found, &words),
    };
    let mut best = FirstFew::new(limit.min(LESSONS_MAX));
    let (mut fitting, mut broken, mut first_reason) = (0, 0, None);
    for LessonFile { path, lesson, .. } in lesson::complete_folder(request).read_lesson_files() {
        match lesson {
            Ok(lesson) => {
                let found = FoundLesson { path, lesson, withdrawn: false };
                let Some(score) = weigh(&found) else { continue };
                fitting += 1;
                // The bits of scores, which are not negative, are in their order.
                let place = (Reverse(score.to_bits()), Reverse(found.lesson.front.recorded_at), found.path.clone());
                best.push(place, (score, found));
            }
            Err(error) => {
                broken += 1;
                first_reason.get_or_insert_with(|| error.to_string());
            }
        }
    }
    let lessons: Vec<SearchHit> =
        best.into_sorted().map(|(_, (score, found))| SearchHit::from_lesson(&request.places, score, &found)).collect();
    let note = |reason: String| one_line(&format!("{} can't be read: {reason}", count(broken, "lesson file")));
    let more = fitting - lessons.len();
    Reply::new(LessonHits { lessons, more }, first_reason.map(note).into_iter().collect())
}

/// How well a lesson fits: the share of the words that it has, and a little for where; `None` when it has none.
#[allow(clippy::cast_precision_loss, reason = "a few words")]
fn match_score(found: &FoundLesson, words: &[String]) -> Option<f64> {
    let front = &found.lesson.front;
    let lower = |texts: &[&str]| texts.join("\n").to_lowercase();
    let said = |text: &Option<String>| text.clone().unwrap_or_default();
    let places = [
        lower(&[&said(&front.cause), &said(&front.resolution), &said(&front.corrective_rule)]),
        lower(&[found.lesson.title(), &front.tool, &front.category, &front.command, &front.files.join("\n")]),
        lower(&[&found.lesson.body]),
    ];
    let weight = |word: &String| {
        let place = places.iter().zip(WEIGHTS).find(|(text, _)| has_word(text, word));
        place.map_or(0.0, |(_, weight)| weight)
    };
    let weights: Vec<f64> = words.iter().map(weight).filter(|weight| *weight > 0.0).collect();
    if weights.is_empty() {
        return None;
    }
    let share = weights.len() as f64 / words.len() as f64;
    let place = weights.iter().sum::<f64>() / (WEIGHTS[0] * words.len() as f64);
    Some(round_to_thousandth(0.8 * share + 0.2 * place))
}

/// Whether a text has a word, in any form; a short one only as a whole word.
fn has_word(text: &str, word: &str) -> bool {
    match word.len() {
        ..3 => text.split(|c: char| !c.is_alphanumeric()).any(|other| other == word),
        _ => text.contains(word),
    }
}

impl SearchHit {
    fn from_lesson(places: &Places, score: f64, found: &FoundLesson) -> Self {
        let front = &found.lesson.front;
        let line = |text: &str, max| ellipsis(one_line(text).trim(), max);
        let said = |text: &Option<String>| {
            text.as_deref().map(|text| line(text, SAID_BYTES_MAX)).filter(|text| !text.is_empty())
        };
        let file = places.relative(&found.path).unwrap_or_else(|| found.path.clone().into_os_string());
        SearchHit {
            id: line(&front.id, LINE_BYTES_MAX),
            title: line(found.lesson.title(), LINE_BYTES_MAX),
            file: PathBuf::from(line(&file.to_string_lossy(), LINE_BYTES_MAX)),
            recorded_at: front.recorded_at,
            tool: line(&front.tool, LINE_BYTES_MAX),
            category: line(&front.category, LINE_BYTES_MAX),
            files: front.files.iter().take(FILES_MAX).map(|file| line(file, LINE_BYTES_MAX)).collect(),
            cause: said(&front.cause),
            resolution: said(&front.resolution),
            rule: said(&front.corrective_rule),
            score,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Environment;
    use crate::lesson::LessonFolder;

    fn lesson(id: &str, minute: u32, cause: &str, title: &str, body: &str) -> (String, String) {
        let text = format!(
            "---\nschema: 1\nid: l-{id}\nrecorded_at: 2026-01-01T00:{minute:02}:00Z\ntool: pytest\ncommand: pytest\n\
             category: test_failure\nfiles:\n  - src/{id}.py\ncause: {cause}\nresolution:\ncorrective_rule:\n---\n\n\
             # {title}\n\n{body}\n"
        );
        (format!("2026-01-01-l-{id}.md"), text)
    }

    #[test]
    fn words_that_people_wrote_come_first_then_more_words_then_the_newest() {
        let dir = tempfile::tempdir().expect("a folder");
        let environment = Environment { home: Some(dir.path().to_owned()), ..Environment::default() };
        let places = Places::find(dir.path(), &environment);
        let request = Request::at_places(places, environment);
        let folder = LessonFolder::find(&request.places, request.settings()).dir;
        std::fs::create_dir_all(&folder).expect("a folder");
        let written = [
            lesson("aaaaaaaa", 1, "the cache was stale", "a value is wrong", ""),
            lesson("bbbbbbbb", 2, "", "a value is wrong", "caching\u{1b}[31m failed"),
            lesson("cccccccc", 3, "", "a port is taken", "nothing of it"),
        ];
        for (name, text) in written {
            std::fs::write(folder.join(name), text).expect("a file");
        }
        let ids = |text: &str, limit| {
            let hits = search_lessons(&request, text, limit);
            let ids: Vec<String> = hits.data.lessons.iter().map(|hit| hit.id[2..4].to_owned()).collect();
            (ids.join(" "), hits.data.more)
        };
        assert_eq!(ids("caches", 9), ("aa bb".to_owned(), 0), "in another form, and where an annotation comes first");
        assert_eq!(ids("wrong caching", 9), ("aa bb".to_owned(), 0));
        assert_eq!(ids("wrong", 1), ("bb".to_owned(), 1), "the newest of equals");
        assert_eq!(ids("", 9), ("cc bb aa".to_owned(), 0));
        assert_eq!(ids("l-cccc", 9), ("cc".to_owned(), 0));
        assert_eq!(ids("zebra", 9), (String::new(), 0));
        assert_eq!(ids("\u{1}\u{202e}", 9), (String::new(), 0), "what has no words finds nothing");
    }
}
