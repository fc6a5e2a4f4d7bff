//! Where items are: the paths that they were printed with, as files of the project.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use memchr::memmem::Finder;

use crate::base::limits::FRAMES_MAX;
use crate::diagnose::Severity;
use crate::diagnose::engine::{Frame, LineRole};
use crate::diagnose::generic::{self, looks_like_a_file};
use crate::diagnose::located;
use crate::diagnose::paths::{PathResolver, PathTrust};

use super::AssembledDiagnostics;

/// A path that items were printed with.
struct PrintedPath {
    /// The project's file that it is.
    inside: Option<Rc<str>>,
    /// Else how people know it, once an item needs that.
    shown: Option<Rc<str>>,
    /// Whether it is among the affected files.
    affected: bool,
}

impl<'a> AssembledDiagnostics<'a> {
    /// Resolves the places of all items against the project, and takes the files of those that made the run fail.
    pub(super) fn resolve_locations(&mut self, resolver: &PathResolver<'_>) {
        for index in 0..self.outcome.items.len() {
            if self.failing[index] {
                match self.outcome.items[index].place {
                    None => self.search_block(index, |_| true, resolver),
                    // A runner names the file of its tests, and a compiler's message about another file is below.
                    Some(Frame { line: None, .. }) => self.search_block(index, is_error_at_a_place, resolver),
                    Some(_) => self.prefer_what_exists(index, resolver),
                }
                self.adopt_origin(index, resolver);
            }
        }
        // Items are many and files are few: each is resolved once, as seen from the same folders.
        let mut known: HashMap<(&str, &[&str]), PrintedPath, RandomState> = HashMap::default();
        for (found, failing) in self.outcome.items.iter().zip(&self.failing) {
            if let Some(test) = found.test
                && !self.tests.contains_key(test)
                && let Some(name) = name_from_root(test, resolver, found.stack_dirs())
            {
                self.tests.insert(test, name);
            }
            if *failing {
                let frames = found.all_frames().iter();
                self.files.extend(
                    frames.filter_map(|frame| resolver.resolve_path(frame.file, found.stack_dirs(), PathTrust::Looks)),
                );
            }
            let Some(Frame { file, line, .. }) = found.place else {
                self.places.push(None);
                continue;
            };
            let printed = known.entry((file, found.stack_dirs())).or_insert_with(|| {
                // What only its position says to be a file (`%f:%l: %m` on `step:3: done`) has to exist.
                let trust = if looks_like_a_file(file) { PathTrust::Format } else { PathTrust::Looks };
                let inside = resolver.resolve_path(file, found.stack_dirs(), trust).map(Rc::from);
                PrintedPath { inside, shown: None, affected: false }
            });
            if *failing && !std::mem::replace(&mut printed.affected, true) {
                self.files.extend(printed.inside.as_deref().map(str::to_owned));
            }
            // An item in third-party code keeps its place, though the file is not an affected one.
            if printed.inside.is_none() && printed.shown.is_none() && line.is_some() && !file.contains('<') {
                printed.shown = Some(resolver.shown_path(file, found.stack_dirs()).into());
            }
            let shown = printed.shown.clone().filter(|_| line.is_some());
            self.places.push(printed.inside.clone().or(shown));
        }
    }

    /// A place that was taken from a stack gives way to a frame whose file is the project's: code of others may be printed
    /// without its folder.
    fn prefer_what_exists(&mut self, index: usize, resolver: &PathResolver<'_>) {
        let found = &self.outcome.items[index];
        let exists =
            |frame: &Frame<'_>| resolver.resolve_path(frame.file, found.stack_dirs(), PathTrust::Looks).is_some();
        let from_stack = found.place.filter(|place| found.all_frames().len() > 1 && found.all_frames().contains(place));
        let Some(place) = from_stack.filter(|_| resolver.knows_files()) else { return };
        if let Some(inside) = found.all_frames().iter().copied().find(exists).filter(|_| !exists(&place)) {
            self.outcome.items[index].place = Some(inside);
        }
    }

    /// What a compiler finds in a header or a template of a library's is wrong where the project includes or uses it.
    fn adopt_origin(&mut self, index: usize, resolver: &PathResolver<'_>) {
        let found = &self.outcome.items[index];
        let above = &self.lines[found.span.0.saturating_sub(ORIGIN_LINES_MAX)..found.span.0];
        let Some(place) = found.place.filter(|_| above.last().is_some_and(|line| origin(line).is_some())) else {
            return;
        };
        let is_inside = |file: &str| resolver.resolve_path(file, found.stack_dirs(), PathTrust::Looks).is_some();
        if is_inside(place.file) || !found.all_frames().is_empty() {
            return;
        }
        // Of several uses the one of the project's that is nearest; of several inclusions the innermost, which gcc prints first
        // and clang last.
        let lines = (0..found.span.0).rev().zip(above.iter().rev()).map_while(|(at, line)| Some((at, origin(line)?)));
        let (mut used, mut included, mut chain) = (None, None, None);
        for (at, (kind, frame)) in lines {
            let frame = Some((at, frame)).filter(|(_, frame)| is_inside(frame.file));
            match kind {
                Origin::Used => used = used.or(frame),
                Origin::IncludedFurther => chain = frame.or(chain),
                Origin::Included => included = included.or(frame).or(chain.take()),
            }
        }
        if let Some((at, frame)) = used.or(included) {
            self.outcome.items[index].place = Some(frame);
            self.outcome.roles[at] = LineRole::Detail(index);
        }
    }

    /// A block whose rules name no file may still hold one that exists, in the lines that `may_name` one.
    fn search_block(&mut self, index: usize, may_name: impl Fn(&str) -> bool, resolver: &PathResolver<'_>) {
        let (from, until) = self.outcome.items[index].span;
        let mine = |role: &LineRole| matches!(role, LineRole::Head(item) | LineRole::Told(item) | LineRole::Detail(item) if *item == index);
        let lines = (from..until).filter(|&line| mine(&self.outcome.roles[line]) && may_name(self.lines[line]));
        let widest = |line: &'a str| {
            let places = generic::find_locations(line).into_iter();
            places.map(move |place| Frame { file: resolver.widest_path(line, place.file), ..place })
        };
        let places: Vec<Frame<'_>> = lines.flat_map(|line| widest(self.lines[line])).collect();
        let found = &mut self.outcome.items[index];
        for place in places {
            if resolver.resolve_path(place.file, found.stack_dirs(), PathTrust::Looks).is_none() {
                self.missing.extend(resolver.missing_path(place.file));
            } else if found.place.is_none() {
                found.place = Some(place);
            } else if found.all_frames().len() < FRAMES_MAX {
                found.rest_mut().frames.push(place);
            }
        }
    }
}

/// Lines above a compiler's message that say how it came to the place.
const ORIGIN_LINES_MAX: usize = 24;

/// How a compiler came to a place in another file.
enum Origin {
    /// The template there was used here.
    Used,
    /// The file was included here.
    Included,
    /// … and the file that includes it here (gcc's second line).
    IncludedFurther,
}

/// What a line above a compiler's message says about how the compiler came there.
fn origin(line: &str) -> Option<(Origin, Frame<'_>)> {
    // Every line above an error is asked.
    static WORDS: LazyLock<[Finder; 2]> = LazyLock::new(|| ["from ", ": In "].map(Finder::new));
    if !WORDS.iter().any(|word| word.find(line.as_bytes()).is_some()) {
        return None;
    }
    let (kind, place) = if let Some(place) = line.strip_prefix("In file included from ") {
        (Origin::Included, place.trim_end_matches([',', ':']))
    } else if let Some(place) = line.strip_prefix("                 from ") {
        (Origin::IncludedFurther, place.trim_end_matches([',', ':']))
    } else if line.contains(": In ") {
        (Origin::Used, line.split(": In ").next()?)
    } else {
        let (place, _) = line.split_once("   required from ")?;
        (Origin::Used, place.trim_end().strip_suffix(':')?)
    };
    let mut parts = place.splitn(2, ':');
    let file = parts.next().filter(|file| !file.is_empty())?;
    let mut numbers = parts.next().unwrap_or_default().split(':').map(|number| number.parse().ok());
    Some((kind, Frame { file, line: numbers.next().flatten(), col: numbers.next().flatten() }))
}

/// Whether a line says of a place that there is an error.
fn is_error_at_a_place(line: &str) -> bool {
    located::read_located(line).is_some_and(|said| said.severity == Some(Severity::Error) && said.file.is_some())
}

/// `test_a.py::test_y` of a run in `app` is `app/test_a.py::test_y`: a test has one name, whatever folder it is run in.
/// `None` where the name is that already, or names no file.
fn name_from_root(test: &str, resolver: &PathResolver<'_>, dirs: &[&str]) -> Option<String> {
    let (file, rest) = test.split_once("::")?;
    let inside = resolver
        .resolve_path(file, dirs, PathTrust::Looks)
        .filter(|inside| looks_like_a_file(file) && inside != file)?;
    Some(format!("{inside}::{rest}"))
}
