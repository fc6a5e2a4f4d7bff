//! How urgent a pattern is: by how often it was seen recently.

use serde::Serialize;

/// How urgent a pattern is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum PatternSeverity {
    Low,
    Medium,
    High,
    Critical,
}

impl PatternSeverity {
    /// The severity of a frequency, from 0 to 1; `limits` are those of critical, high and medium.
    pub(crate) fn of_frequency(frequency: f64, limits: &[f64; 3]) -> Self {
        match limits.iter().position(|limit| frequency >= *limit) {
            Some(0) => PatternSeverity::Critical,
            Some(1) => PatternSeverity::High,
            Some(_) => PatternSeverity::Medium,
            None => PatternSeverity::Low,
        }
    }

    /// The word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            PatternSeverity::Low => "low",
            PatternSeverity::Medium => "medium",
            PatternSeverity::High => "high",
            PatternSeverity::Critical => "critical",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::ranking::recent_frequency;
    use crate::config::Settings;

    #[test]
    fn twelve_tasks_of_this_week_are_critical_and_one_is_low() {
        let settings = Settings::default();
        let day = 86_400_000_000;
        let of = |tasks: u64, age_days: u64| {
            let frequency = recent_frequency((0..tasks).map(|_| age_days * day), &settings.advice);
            PatternSeverity::of_frequency(frequency, &settings.dashboard.severity).as_str()
        };
        assert_eq!([of(12, 3), of(4, 3), of(2, 3), of(1, 3)], ["critical", "high", "medium", "low"]);
        assert_eq!(of(12, 400), "low", "it is long ago");
        assert_eq!(PatternSeverity::of_frequency(0.7, &[0.7, 0.5, 0.3]), PatternSeverity::Critical);
    }
}
