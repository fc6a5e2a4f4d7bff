//! Where things are, and what the user set.

mod places;
mod settings;

pub use places::{Environment, Places, Repository};
pub use settings::{LessonSettings, PatternSettings, Problem, RawSettings, SETTINGS_FILE, Settings, WriteWhen};
