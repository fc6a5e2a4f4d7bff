//! `[receipts]`: for how long a pass counts.

use serde::Deserialize;

use super::layer::SettingsLayer;
use super::learning::NumericSetting;

/// What a receipt's variables and programs are compared by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "lowercase")]
pub enum ReceiptEnvironment {
    /// By everything that is known on this machine.
    #[default]
    Machine,
    /// Receipts that an accepted key signed, of another machine perhaps, by versions and contents.
    Toolchain,
}

/// `[receipts]`: receipts of checks that passed, which `verify-run --reuse` reuses.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct ReceiptSettings {
    /// `days`: days after which a receipt is not reused any more.
    pub days: u64,
    /// `environment`: `machine`, or `toolchain`: then receipts of other machines count, too, if an accepted key signed them
    /// (user's file; in a repository's file it is reported and left out).
    pub environment: ReceiptEnvironment,
}

impl Default for ReceiptSettings {
    fn default() -> Self {
        ReceiptSettings { days: 7, environment: ReceiptEnvironment::default() }
    }
}

impl ReceiptSettings {
    /// Takes a value from a layer.
    pub(super) fn apply(&mut self, layer: &mut SettingsLayer<'_>, section: &str, key: &str, value: &toml::Value) {
        match key {
            "environment" if !layer.is_user => layer.leave_to_user(section, key),
            "environment" => layer.set(&mut self.environment, section, key, value),
            _ => layer.set_figure(self.figure(key), section, key, value),
        }
    }

    /// The figure called `key`.
    fn figure(&mut self, key: &str) -> Option<NumericSetting<'_>> {
        (key == "days").then_some(NumericSetting::Count(&mut self.days, 0..=365))
    }
}
