//! Where things are, and what the user set.

mod advice;
mod category;
mod hooks;
mod knowledge;
mod learning;
mod places;
mod problem;
mod promotion;
mod settings;
mod strategy;

pub use advice::AdviceSettings;
pub use category::{Categories, Category};
pub use hooks::HookSettings;
pub use knowledge::{KnowledgeSettings, TypeSettings};
pub use learning::{ConfidenceSettings, PatternSettings};
pub use places::{Environment, Places, Repository};
pub use problem::Problem;
pub use promotion::PromotionSettings;
pub use settings::{FixSettings, LessonSettings, RawSettings, SETTINGS_FILE, Settings, WriteWhen};
pub use strategy::StrategyTable;
