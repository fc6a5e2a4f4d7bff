//! What tells, without a question to the store, that nothing was recorded or configured since an answer.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use nix::fcntl::AtFlags;
use nix::sys::stat::{FileStat, fstatat, stat};

use super::ask::HttpAsk;
use super::resource::{HttpResource, ResourceForm};
use crate::base::clock::Timestamp;
use crate::base::folder::entry_names;
use crate::lesson::LessonFolder;

/// Files of a folder that are looked at; of one with more nothing is known.
const FILES_MAX: usize = 20_000;
const MINUTE_US: i64 = 60_000_000;
/// Bytes of the digest that are kept.
const TAG_BYTES: usize = 16;

/// Pages that show what is outside of the store as well: files of the work tree, the installation.
const BEYOND_STORE: [&str; 12] = [
    "inbox",
    "promotions",
    "promotion",
    "gate-cycle",
    "gate-report",
    "library",
    "library-page",
    "library-jobs",
    "library-job",
    "lesson",
    "run",
    "run-output",
];

/// Pages that show the files of lessons. All others show what the store took over from them.
const WITH_LESSON_FILES: [&str; 2] = ["lessons", "search"];
/// Lessons that are looked at for such another page, each; of more it is known within a minute that one was edited.
const LESSONS_MAX: usize = 1_000;

/// The entity tag of an answer, from what it is made of; `None` where that is more than can be looked at.
pub(super) fn generation_tag(resource: &HttpResource, form: ResourceForm, ask: &HttpAsk) -> Option<String> {
    if !resource.is_record() || BEYOND_STORE.contains(&resource.name) {
        return None;
    }
    let mut hasher = blake3::Hasher::new();
    // Ages are in minutes; documents have moments, and their figures change with the day.
    let step = if form == ResourceForm::Page { MINUTE_US } else { 60 * MINUTE_US };
    let theme = ask.theme.as_str();
    let settings = format!("{:?}", ask.request.settings());
    let moment = Timestamp::now().0.div_euclid(step).to_string();
    for part in [resource.path(form), theme, &settings, &moment, ask.form_token.as_deref().unwrap_or_default()] {
        add_part(&mut hasher, part);
    }
    add_part(&mut hasher, if form == ResourceForm::Markdown { "md" } else { "" });
    ask.path.iter().for_each(|value| add_part(&mut hasher, value));
    for (name, value) in &ask.parameters {
        add_part(&mut hasher, name);
        add_part(&mut hasher, value);
    }
    let places = &ask.request.places;
    let lessons = LessonFolder::find(places, ask.request.settings()).dir;
    let definitions = places.definition_dirs(&ask.request.environment);
    for folder in [places.state.events(), places.state.spool()].iter().chain(&definitions) {
        add_folder(&mut hasher, folder, FILES_MAX)?;
    }
    let with_lessons = WITH_LESSON_FILES.contains(&resource.name);
    if add_folder(&mut hasher, &lessons, if with_lessons { FILES_MAX } else { LESSONS_MAX }).is_none() {
        if with_lessons {
            return None;
        }
        add_file(&mut hasher, &lessons);
        add_part(&mut hasher, Timestamp::now().0.div_euclid(MINUTE_US).to_string());
    }
    let index = places.state.index();
    add_file(&mut hasher, &index);
    // An empty journal comes and goes with each reader.
    let journal = index.with_extension("db-wal");
    if stat(&journal).is_ok_and(|found| found.st_size > 0) {
        add_file(&mut hasher, &journal);
    }
    Some(format!("\"g{}\"", data_encoding::HEXLOWER.encode(&hasher.finalize().as_bytes()[..TAG_BYTES])))
}

fn add_part(hasher: &mut blake3::Hasher, part: impl AsRef<[u8]>) {
    hasher.update(&(part.as_ref().len() as u64).to_le_bytes());
    hasher.update(part.as_ref());
}

/// The files of a folder, each with its length and time; `None` of more than `max`.
fn add_folder(hasher: &mut blake3::Hasher, folder: &Path, max: usize) -> Option<()> {
    let names = match entry_names(folder, max) {
        Ok(names) => names,
        Err(error) if error.kind() == ErrorKind::FileTooLarge => return None,
        // It is not there.
        Err(_) => Vec::new(),
    };
    add_part(hasher, folder.as_os_str().as_encoded_bytes());
    // The way to the folder is gone once and not for each file.
    let opened = File::open(folder).ok();
    for name in &names {
        let found = opened.as_ref().and_then(|opened| fstatat(opened, name.as_slice(), AtFlags::empty()).ok());
        add_part(hasher, name);
        add_state(hasher, found.as_ref());
    }
    Some(())
}

fn add_file(hasher: &mut blake3::Hasher, path: &Path) {
    add_part(hasher, path.as_os_str().as_encoded_bytes());
    add_state(hasher, stat(path).ok().as_ref());
}

/// Length and time of a file, or that it is not there.
fn add_state(hasher: &mut blake3::Hasher, found: Option<&FileStat>) {
    let state = found.map_or([-1, 0, 0], |found| [found.st_size, found.st_mtime, found.st_mtime_nsec]);
    state.iter().for_each(|number| {
        hasher.update(&number.to_le_bytes());
    });
}
