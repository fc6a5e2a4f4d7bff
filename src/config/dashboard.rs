//! `[dashboard]`: how lists and pages show what is recorded.

use super::layer::SettingsLayer;

/// `[dashboard]`: how lists and pages show what is recorded. Only the user's own file counts.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct DashboardSettings {
    /// `severity`: how frequent a pattern must be, from 0 to 1, to be critical, high and medium.
    pub severity: [f64; 3],
}

impl Default for DashboardSettings {
    fn default() -> Self {
        DashboardSettings { severity: [0.7, 0.5, 0.3] }
    }
}

impl DashboardSettings {
    /// Puts a value over the setting called `key`.
    pub(super) fn apply(&mut self, layer: &mut SettingsLayer<'_>, key: &str, value: &toml::Value) {
        if key != "severity" {
            return layer.unknown("dashboard", key);
        }
        if !layer.is_user {
            return layer.leave_to_user("dashboard", key);
        }
        let numbers = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let numbers: Vec<f64> = numbers.iter().filter_map(number).collect();
        match <[f64; 3]>::try_from(numbers) {
            Ok(limits)
                if limits.is_sorted_by(|a, b| a > b) && limits.iter().all(|limit| (0.0..=1.0).contains(limit)) =>
            {
                self.severity = limits;
            }
            _ => layer.refuse("dashboard", key, &format!("not three falling numbers from 1 to 0: {value}")),
        }
    }
}

fn number(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|number| number as f64))
}

#[cfg(test)]
mod tests {
    use crate::config::Settings;

    #[test]
    fn three_falling_limits_are_taken_and_nothing_else() {
        let (settings, problems) = Settings::of("[dashboard]\nseverity = [0.9, 0.5, 0]\n");
        assert_eq!((settings.dashboard.severity, problems.len()), ([0.9, 0.5, 0.0], 0));
        for wrong in
            ["[0.5, 0.7, 0.3]", "[0.7, 0.5]", "[0.7, 0.5, 0.3, 0.1]", "[1.7, 0.5, 0.3]", "[\"a\", 0.5, 0.3]", "0.7"]
        {
            let (settings, problems) = Settings::of(&format!("[dashboard]\nseverity = {wrong}\n"));
            assert_eq!(settings.dashboard.severity, [0.7, 0.5, 0.3], "{wrong}");
            assert!(problems[0].reason.starts_with("dashboard.severity: not three"), "{wrong}: {problems:?}");
        }
        assert!(Settings::of("[dashboard]\nport = 1\n").1[0].warning);
    }
}
