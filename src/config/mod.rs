//! Where things are, and what the user set.

mod advice;
mod category;
mod gate;
mod hooks;
mod input_name;
mod knowledge;
mod lab;
mod layer;
mod learn;
mod learning;
mod lesson;
pub mod packager;
mod places;
mod problem;
mod promotion;
mod receipt;
#[cfg(test)]
mod reference;
mod settings;
mod state_dir;
mod strategy;

pub use advice::AdviceSettings;
pub use category::{Category, CategoryTable};
pub use gate::{
    BreakerThresholds, ComplexitySource, GateReviewSettings, GateSettings, GateShipSettings, HeadingLanguage,
    ModelDiversity, ProgressReference, UnknownAuthor,
};
pub use hooks::HookSettings;
pub use knowledge::{KnowledgeSettings, TypeSettings};
pub use lab::LabSettings;
pub use learn::{LearnIsolation, LearnSettings, LearnWork, LibrarySettings};
pub use learning::{ConfidenceSettings, PatternSettings};
pub use lesson::{LessonSettings, WriteWhen};
pub use places::{Environment, Places, Repository};
pub use problem::Problem;
pub use promotion::PromotionSettings;
pub use receipt::{ReceiptEnvironment, ReceiptSettings};
pub use settings::{FixSettings, RawSettings, SETTINGS_FILE, Settings};
pub use state_dir::StateDir;
pub use strategy::StrategyTable;

/// Whether `VERIFY_RUN_DISABLE` says that everything is run bare and nothing recorded: it is set, and not to `0`.
pub fn is_disabled() -> bool {
    std::env::var_os("VERIFY_RUN_DISABLE").is_some_and(|value| !value.is_empty() && value != "0")
}
