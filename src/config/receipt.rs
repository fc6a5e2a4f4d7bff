//! `[receipts]`: for how long a pass counts.

use super::learning::NumericSetting;

/// `[receipts]`: receipts of checks that passed, which `verify-run --reuse` reuses.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct ReceiptSettings {
    /// `days`: days after which a receipt is not reused any more.
    pub days: u64,
}

impl Default for ReceiptSettings {
    fn default() -> Self {
        ReceiptSettings { days: 7 }
    }
}

impl ReceiptSettings {
    /// The figure called `key`.
    pub(super) fn figure(&mut self, key: &str) -> Option<NumericSetting<'_>> {
        (key == "days").then_some(NumericSetting::Count(&mut self.days, 0..=365))
    }
}
