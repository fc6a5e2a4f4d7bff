//! The language models of an agent's session, as its host names them to hooks: kept for the recorder and the gate,
//! because the commands that the agent runs do not learn them. The files are in the user's own state folder: a session may work in several
//! repositories, and most hooks of a session record nothing.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::clock::Timestamp;
use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::base::private;
use crate::config::Environment;
use crate::redact::sanitize_name;

/// Version of a file.
const FILE_SCHEMA: u32 = 1;
/// Size of a file, bytes.
const FILE_BYTES_MAX: u64 = 16 << 10;
/// Models of one session, the last ones.
const MODELS_MAX: usize = 16;
/// Sessions that are remembered; of more, those go that were not heard of for 30 days.
const SESSIONS_MAX: usize = 200;
const SESSION_AGE_SECONDS_MAX: i64 = 30 * 24 * 60 * 60;

/// The file of a session.
#[derive(Debug, Serialize, Deserialize)]
struct SessionModels {
    schema: u32,
    /// In the order in which they were seen; the last one is at work.
    models: Vec<String>,
}

/// Remembers that `model` is at work in `session`. Nothing is written where that is known.
///
/// # Errors
/// The operating system's.
pub fn remember_session_model(environment: &Environment, session: &str, model: &str) -> io::Result<()> {
    let (Some(model), Some(folder)) = (sanitize_name(model), models_folder(environment)) else { return Ok(()) };
    let mut models = session_models(environment, session);
    if models.last() == Some(&model) {
        return Ok(());
    }
    models.retain(|known| *known != model);
    models.push(model);
    models.drain(..models.len().saturating_sub(MODELS_MAX));
    create_private_dir(&folder)?;
    let path = session_file(&folder, session);
    if !path.exists() {
        forget_old_sessions(&folder);
    }
    let bytes = serde_json::to_vec(&SessionModels { schema: FILE_SCHEMA, models })?;
    write_atomic(&path, &bytes, 0o600, Durability::Cached)
}

/// The models of a session, the one at work last; empty where its host names none.
pub fn session_models(environment: &Environment, session: &str) -> Vec<String> {
    let read = || -> Option<SessionModels> {
        let file = session_file(&models_folder(environment)?, session);
        serde_json::from_slice(&private::read_start(&file, FILE_BYTES_MAX).ok()?).ok()
    };
    let known = read().filter(|known| known.schema == FILE_SCHEMA);
    known.map(|known| known.models.iter().filter_map(|model| sanitize_name(model)).collect()).unwrap_or_default()
}

fn models_folder(environment: &Environment) -> Option<PathBuf> {
    environment.state_dir().map(|folder| folder.join("models"))
}

fn session_file(folder: &Path, session: &str) -> PathBuf {
    folder.join(format!("{}.json", &blake3::hash(session.as_bytes()).to_hex()[..32]))
}

fn forget_old_sessions(folder: &Path) {
    let files: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
    if files.len() < SESSIONS_MAX {
        return;
    }
    let now = Timestamp::now().0 / 1_000_000;
    let is_old = |file: &fs::DirEntry| {
        file.metadata().is_ok_and(|metadata| now.saturating_sub(metadata.mtime()) > SESSION_AGE_SECONDS_MAX)
    };
    for file in files.iter().filter(|file| is_old(file)) {
        // Another hook may have removed it.
        let _ = fs::remove_file(file.path());
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn user(dir: &Path) -> (Environment, PathBuf) {
        let environment = Environment { home: Some(dir.to_owned()), ..Environment::default() };
        let folder = models_folder(&environment).expect("a folder");
        (environment, folder)
    }

    #[test]
    fn a_session_has_its_models_with_the_one_at_work_last() {
        let dir = tempfile::tempdir().expect("a folder");
        let (user, folder) = user(dir.path());
        assert!(session_models(&user, "s/../1").is_empty());
        for model in ["opus", "sonnet", "opus", "\u{1b}[0m", "opus"] {
            remember_session_model(&user, "s/../1", model).expect("written");
        }
        assert_eq!(session_models(&user, "s/../1"), ["sonnet", "[0m", "opus"]);
        assert!(session_models(&user, "s-2").is_empty());
        let files: Vec<_> = fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
        assert_eq!(files.len(), 1);
        fs::write(&files[0], "{\"schema\": 2, \"models\": [\"x\"]}").expect("written");
        assert!(session_models(&user, "s/../1").is_empty(), "a newer version's");
    }

    #[test]
    fn sessions_that_are_long_over_are_forgotten() {
        let dir = tempfile::tempdir().expect("a folder");
        let (user, folder) = user(dir.path());
        let age = u64::try_from(SESSION_AGE_SECONDS_MAX).expect("an age") + 60;
        let long_ago = SystemTime::now() - Duration::from_secs(age);
        for number in 0..SESSIONS_MAX {
            let session = format!("s-{number}");
            remember_session_model(&user, &session, "opus").expect("written");
            let file = fs::File::options().append(true).open(session_file(&folder, &session)).expect("opens");
            file.set_modified(long_ago).expect("a time");
        }
        remember_session_model(&user, "new", "opus").expect("written");
        assert_eq!(fs::read_dir(folder).expect("a folder").count(), 1);
    }
}
