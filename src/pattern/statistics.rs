//! The certainty of a share: the Beta distribution and Wilson's interval. Own lines instead of a crate: two functions
//! are all that is needed of one.

/// Steps of the continued fraction; it is exact to 1e-12 long before for the sizes that occur here.
const FRACTION_STEPS_MAX: u32 = 300;
/// Steps to a quantile, of which it takes about six, and how close the last two are.
const STEPS_MAX: u32 = 60;
const CLOSE: f64 = 1e-14;

/// P(X <= `x`) of a Beta distribution: the regularised incomplete beta function I_x(a, b).
///
/// By its continued fraction (DLMF 8.17.22), evaluated as Lentz does. `a` and `b` are taken as at least 1e-9.
#[cfg(test)]
fn beta_probability(x: f64, a: f64, b: f64) -> f64 {
    let (a, b) = (a.max(1e-9), b.max(1e-9));
    incomplete_beta(x, a, b, ln_beta(a, b))
}

fn incomplete_beta(x: f64, a: f64, b: f64, ln_beta: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (-ln_beta + a * x.ln() + b * (1.0 - x).ln()).exp();
    // The fraction converges fast on this side of the mean only.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_continued_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_continued_fraction(1.0 - x, b, a) / b
    }
}

fn beta_continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    let nonzero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut product = d;
    for step in 1..=FRACTION_STEPS_MAX {
        let m = f64::from(step);
        for numerator in [
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        ] {
            d = 1.0 / nonzero(1.0 + numerator * d);
            c = nonzero(1.0 + numerator / c);
            product *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    product
}

/// The value below which a Beta distribution lies with probability `p`: by Newton's method, and by halving what is left
/// where that would leave it.
pub(crate) fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    let (a, b) = (a.max(1e-9), b.max(1e-9));
    let ln_beta = ln_beta(a, b);
    let (mut low, mut high) = (0.0, 1.0);
    let mut value = a / (a + b);
    for _ in 0..STEPS_MAX {
        let over = incomplete_beta(value, a, b, ln_beta) - p;
        if over < 0.0 {
            low = value
        } else {
            high = value
        }
        let density = ((a - 1.0) * value.ln() + (b - 1.0) * (1.0 - value).ln() - ln_beta).exp();
        let step = value - over / density;
        let next = if step > low && step < high { step } else { f64::midpoint(low, high) };
        let moved = (next - value).abs();
        value = next;
        if moved < CLOSE {
            break;
        }
    }
    value
}

/// With three digits, so that it reads the same everywhere.
pub(crate) fn round_to_thousandth(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

/// A share as it is in events: thousandths.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 1,000")]
pub(crate) fn to_permille(share: f64) -> u16 {
    (share.clamp(0.0, 1.0) * 1_000.0).round() as u16
}

/// The lower bound of the share behind `hits` of `tries`, before which nothing was known (Beta(1, 1)).
pub(crate) fn share_bound(hits: u64, tries: u64, quantile: f64) -> f64 {
    let misses = tries.saturating_sub(hits);
    beta_quantile(quantile, 1.0 + hits as f64, 1.0 + misses as f64)
}

/// The lower end of Wilson's score interval for `hits` of `tries` at `z` standard deviations (Wilson 1927).
pub(crate) fn wilson_bound(hits: u64, tries: u64, z: f64) -> f64 {
    if tries == 0 {
        return 0.0;
    }
    let n = tries as f64;
    let share = hits as f64 / n;
    let middle = share + z * z / (2.0 * n);
    let spread = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    ((middle - spread) / (1.0 + z * z / n)).max(0.0)
}

/// ln B(a, b) for a, b > 0.
pub(crate) fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// ln Γ(x) for x > 0, by Lanczos' approximation (g = 7, 9 terms: 15 digits).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        // Euler's reflection.
        return (std::f64::consts::PI / (std::f64::consts::PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let series = (1u8..).zip(TERMS).fold(0.999_999_999_999_809_9, |sum, (k, term)| sum + term / (x + f64::from(k)));
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + series.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(got: f64, wanted: f64) {
        assert!((got - wanted).abs() < 1e-9, "{got} is not {wanted}");
    }

    #[test]
    fn the_gamma_function_has_its_known_values() {
        for (x, wanted) in [(1.0, 0.0), (2.0, 0.0), (5.0, 24f64.ln()), (0.5, std::f64::consts::PI.sqrt().ln())] {
            close(ln_gamma(x), wanted);
        }
        // ln(99!) = 359.1342053695754, Abramowitz and Stegun 6.1.
        close(ln_gamma(100.0), 359.134_205_369_575_4);
    }

    #[test]
    fn beta_has_its_closed_forms() {
        for x in [0.01, 0.2, 0.5, 0.77, 0.99] {
            close(beta_probability(x, 1.0, 1.0), x);
            close(beta_probability(x, 4.0, 1.0), x.powi(4));
            close(beta_probability(x, 1.0, 3.0), 1.0 - (1.0 - x).powi(3));
            // The arcsine distribution.
            close(beta_probability(x, 0.5, 0.5), 2.0 / std::f64::consts::PI * x.sqrt().asin());
            // By the binomial: P(at least 3 of 5 heads).
            let heads = 10.0 * x.powi(3) * (1.0 - x).powi(2) + 5.0 * x.powi(4) * (1.0 - x) + x.powi(5);
            close(beta_probability(x, 3.0, 3.0), heads);
            for (a, b) in [(2.5, 7.25), (300.0, 20.0), (0.4, 900.0)] {
                close(beta_probability(x, a, b) + beta_probability(1.0 - x, b, a), 1.0);
            }
        }
        assert_eq!((beta_probability(-1.0, 2.0, 2.0), beta_probability(2.0, 2.0, 2.0)), (0.0, 1.0));
    }

    #[test]
    fn quantiles_turn_probabilities_round() {
        close(beta_quantile(0.05, 4.0, 1.0), 0.05f64.powf(0.25));
        close(beta_quantile(0.3, 1.0, 1.0), 0.3);
        for (p, a, b) in [(0.05, 2.0, 2.0), (0.5, 8.0, 4.0), (0.95, 0.5, 30.0), (0.05, 900.0, 100.0)] {
            close(beta_probability(beta_quantile(p, a, b), a, b), p);
        }
    }

    #[test]
    fn wilson_is_as_published() {
        // The 90 % two-sided interval: 5/5 .65, 8/10 .54, 10/10 .79, 20/20 .88, 45/50 .81.
        for (hits, tries, wanted) in [(5, 5, 0.65), (8, 10, 0.54), (10, 10, 0.79), (20, 20, 0.88), (45, 50, 0.81)] {
            let got = wilson_bound(hits, tries, 1.645);
            assert!((got - wanted).abs() < 0.005, "{hits}/{tries}: {got}");
        }
        assert_eq!(wilson_bound(0, 0, 1.645), 0.0);
    }

    #[test]
    fn a_share_of_little_is_not_sure() {
        assert!(share_bound(3, 3, 0.05) < 0.5);
        assert!(share_bound(5, 5, 0.05) > 0.6);
        assert!(share_bound(70, 100, 0.05) > 0.6);
        assert!(share_bound(7, 10, 0.05) < 0.5);
    }
}
