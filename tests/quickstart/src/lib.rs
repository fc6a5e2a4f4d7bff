//! Temperatures.

/// Degrees Fahrenheit to degrees Celsius.
pub fn celsius(fahrenheit: f64) -> f64 {
    // The bug: the offset has to be taken away before scaling.
    fahrenheit * 5.0 / 9.0 - 32.0
}

#[cfg(test)]
mod tests {
    use super::celsius;

    #[test]
    fn water_boils_at_100() {
        assert_eq!(celsius(212.0).round(), 100.0);
    }

    #[test]
    fn absolute_zero_is_below_zero() {
        assert!(celsius(-459.67) < 0.0);
    }
}
