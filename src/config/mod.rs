//! Where things are, and what the user set.

mod places;
mod problem;
mod settings;

pub use places::{Environment, Places, Repository};
pub use problem::Problem;
pub use settings::{LessonSettings, PatternSettings, RawSettings, SETTINGS_FILE, Settings, WriteWhen};
