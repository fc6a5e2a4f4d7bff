//! How sure a share is: the Beta distribution and Wilson's interval.

use statrs::distribution::{Beta, ContinuousCDF};
use statrs::function::beta;

/// A Beta distribution has no smaller shape here: at 0 it has no quantiles.
const SHAPE_MIN: f64 = 1e-9;

/// The value below which a Beta distribution lies with probability `p`. `a` and `b` are taken as at least 1e-9.
pub(crate) fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    // Only an infinite shape is refused, and no count is infinite.
    Beta::new(a.max(SHAPE_MIN), b.max(SHAPE_MIN)).map_or(0.5, |beta| beta.inverse_cdf(p.clamp(0.0, 1.0)))
}

/// ln B(a, b) for a, b > 0.
pub(crate) fn ln_beta(a: f64, b: f64) -> f64 {
    beta::ln_beta(a, b)
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
    wilson_interval(hits, tries, z)[0]
}

/// Wilson's score interval for `hits` of `tries` at `z` standard deviations; from 0 to 1 without tries.
pub(crate) fn wilson_interval(hits: u64, tries: u64, z: f64) -> [f64; 2] {
    if tries == 0 {
        return [0.0, 1.0];
    }
    let n = tries as f64;
    let share = hits as f64 / n;
    let middle = share + z * z / (2.0 * n);
    let spread = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let ends = [middle - spread, middle + spread].map(|end| end / (1.0 + z * z / n));
    [ends[0].max(0.0), ends[1].min(1.0)]
}

/// Pearson's correlation of pairs; `None` of fewer than three, or where one side is always the same.
pub(crate) fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let n = pairs.len() as f64;
    let mean = |part: fn(&(f64, f64)) -> f64| pairs.iter().map(part).sum::<f64>() / n;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum = |part: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(part).sum::<f64>();
    let both = sum(&|pair| (pair.0 - x) * (pair.1 - y));
    let each = sum(&|pair| (pair.0 - x).powi(2)) * sum(&|pair| (pair.1 - y).powi(2));
    (each > 0.0).then(|| (both / each.sqrt()).clamp(-1.0, 1.0))
}

/// The lower bound of how many times as frequent something is now: `recent` cases in one stretch and `before` in the
/// `stretches` of the same length before it. Cases that come at one rate are in the last stretch by chance; the share that
/// is there is bounded as Wilson does at `z` standard deviations.
pub(crate) fn rate_ratio_bound(recent: u64, before: u64, stretches: f64, z: f64) -> f64 {
    let share = wilson_bound(recent, recent + before, z);
    if share >= 1.0 { f64::INFINITY } else { stretches * share / (1.0 - share) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(got: f64, wanted: f64) {
        assert!((got - wanted).abs() < 1e-9, "{got} is not {wanted}");
    }

    #[test]
    fn ln_beta_has_its_known_values() {
        close(ln_beta(1.0, 1.0), 0.0);
        close(ln_beta(0.5, 0.5), std::f64::consts::PI.ln());
        close(ln_beta(5.0, 2.0), (1.0f64 / 30.0).ln());
        // B(100, 1) is 1/100, however large the factorials behind it are.
        close(ln_beta(100.0, 1.0), -(100f64.ln()));
    }

    #[test]
    fn quantiles_have_their_closed_forms() {
        for p in [1e-6, 0.05, 0.3, 0.5, 0.77, 0.95, 0.999] {
            close(beta_quantile(p, 1.0, 1.0), p);
            close(beta_quantile(p, 4.0, 1.0), p.powf(0.25));
            close(beta_quantile(p, 1.0, 3.0), 1.0 - (1.0 - p).cbrt());
            close(beta_quantile(p, 1_000.0, 1.0), p.powf(0.001));
            // The arcsine distribution.
            close(beta_quantile(p, 0.5, 0.5), (std::f64::consts::FRAC_PI_2 * p).sin().powi(2));
            for (a, b) in [(2.5, 7.25), (300.0, 20.0), (0.5, 900.0)] {
                close(beta_quantile(p, a, b) + beta_quantile(1.0 - p, b, a), 1.0);
            }
        }
    }

    #[test]
    fn quantiles_are_as_published() {
        // Clopper and Pearson's exact 95 % limits, as tables print them.
        for (hits, tries, low, high) in
            [(1.0, 10.0, 0.0025, 0.4450), (5.0, 10.0, 0.1871, 0.8129), (9.0, 10.0, 0.5550, 0.9975)]
        {
            let got = [beta_quantile(0.025, hits, tries - hits + 1.0), beta_quantile(0.975, hits + 1.0, tries - hits)];
            for (got, wanted) in got.into_iter().zip([low, high]) {
                assert!((got - wanted).abs() < 5e-5, "{hits} of {tries}: {got} is not {wanted}");
            }
        }
        // Upper 5 % points of F, as in every table of them: F = (n / m) x / (1 - x) with x of Beta(m/2, n/2).
        for (m, n, wanted) in [(1.0, 1.0, 161.4), (5.0, 10.0, 3.326), (10.0, 5.0, 4.735), (20.0, 30.0, 1.932)] {
            let x = beta_quantile(0.95, m / 2.0, n / 2.0);
            let got = n / m * x / (1.0 - x);
            assert!((got - wanted).abs() < 6e-4 * wanted, "F({m}, {n}): {got} is not {wanted}");
        }
    }

    #[test]
    fn quantiles_are_the_same_as_ever() {
        // By Newton's method on the continued fraction of DLMF 8.17.22: the 5 %, 50 % and 90 % quantiles.
        let known = [
            (0.5, 0.5, [0.006_155_829_702, 0.5, 0.975_528_258_148]),
            (0.5, 1.0, [0.002_5, 0.25, 0.81]),
            (0.5, 2.0, [0.001_111_935_225, 0.120_614_758_428, 0.531_877_433_474]),
            (0.5, 30.0, [0.000_066_081_867, 0.007_616_525_602, 0.044_450_074_432]),
            (0.5, 500.0, [0.000_003_934_099, 0.000_455_060_368, 0.002_703_235_918]),
            (1.0, 0.5, [0.097_5, 0.75, 0.99]),
            (1.0, 1.0, [0.05, 0.5, 0.9]),
            (1.0, 2.0, [0.025_320_565_519, 0.292_893_218_813, 0.683_772_233_983]),
            (1.0, 30.0, [0.001_708_315_644, 0.022_840_031_566, 0.073_881_271_871]),
            (1.0, 500.0, [0.000_102_581_327, 0.001_385_333_899, 0.004_594_582_648]),
            (2.0, 0.5, [0.341_627_846_136, 0.879_385_241_572, 0.995_542_318_112]),
            (2.0, 1.0, [0.223_606_797_75, std::f64::consts::FRAC_1_SQRT_2, 0.948_683_298_051]),
            (2.0, 2.0, [0.135_350_362_172, 0.5, 0.804_199_894_341]),
            (2.0, 30.0, [0.011_585_315_861, 0.053_552_052_117, 0.119_769_238_113]),
            (2.0, 500.0, [0.000_709_761_405, 0.003_347_727_073, 0.007_741_556_173]),
            (8.0, 0.5, [0.780_716_365_205, 0.971_092_840_454, 0.998_982_289_927]),
            (8.0, 1.0, [0.687_656_021_934, 0.917_004_043_205, 0.986_916_281_366]),
            (8.0, 2.0, [0.570_864_452_969, 0.820_380_388_02, 0.939_230_950_349]),
            (8.0, 30.0, [0.112_399_968_555, 0.205_412_630_675, 0.297_622_680_852]),
            (8.0, 500.0, [0.007_875_246_018, 0.015_116_745_202, 0.023_107_574_872]),
            (900.0, 0.5, [0.997_867_540_346, 0.999_747_219_283, 0.999_991_224_949]),
            (900.0, 1.0, [0.996_676_942_204, 0.999_230_132_966, 0.999_882_939_612]),
            (900.0, 2.0, [0.994_745_815_78, 0.998_137_940_792, 0.999_409_600_557]),
            (900.0, 30.0, [0.957_679_400_417, 0.968_076_770_674, 0.974_916_705_715]),
            (900.0, 500.0, [0.621_684_101_288, 0.642_925_188_474, 0.659_222_470_775]),
            (3.5, 4.25, [0.182_058_204_586, 0.447_247_228_869, 0.678_322_785_245]),
        ];
        for (a, b, wanted) in known {
            for (p, wanted) in [0.05, 0.5, 0.9].into_iter().zip(wanted) {
                close(beta_quantile(p, a, b), wanted);
            }
        }
    }

    #[test]
    fn extreme_shapes_have_quantiles_too() {
        for (a, b) in [(0.0, 0.0), (0.0, 5.0), (5.0, -1.0), (1e6, 1.0), (1e6, 1e6), (f64::INFINITY, 1.0)] {
            for p in [0.0, 0.05, 0.5, 1.0] {
                let got = beta_quantile(p, a, b);
                assert!((0.0..=1.0).contains(&got), "{p} of Beta({a}, {b}): {got}");
            }
        }
        assert_eq!((beta_quantile(0.0, 2.0, 2.0), beta_quantile(1.0, 2.0, 2.0)), (0.0, 1.0));
    }

    #[test]
    fn wilson_is_as_published() {
        // The 90 % two-sided interval: 5/5 .65, 8/10 .54, 10/10 .79, 20/20 .88, 45/50 .81.
        for (hits, tries, wanted) in [(5, 5, 0.65), (8, 10, 0.54), (10, 10, 0.79), (20, 20, 0.88), (45, 50, 0.81)] {
            let got = wilson_bound(hits, tries, 1.645);
            assert!((got - wanted).abs() < 0.005, "{hits}/{tries}: {got}");
        }
        assert_eq!(wilson_bound(0, 0, 1.645), 0.0);
        let [low, high] = wilson_interval(0, 10, 1.96);
        assert!(low == 0.0 && (high - 0.2775).abs() < 0.0005, "{high}");
        assert_eq!(wilson_interval(0, 0, 1.96), [0.0, 1.0]);
    }

    #[test]
    fn correlations_are_as_published() {
        // Anscombe's first quartet: r = 0.816.
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let pairs: Vec<(f64, f64)> = x.into_iter().zip(y).collect();
        assert!((correlation(&pairs).expect("varies") - 0.816_420_5).abs() < 1e-6);
        let down: Vec<(f64, f64)> = x.into_iter().map(|x| (x, -2.0 * x)).collect();
        close(correlation(&down).expect("varies"), -1.0);
        assert_eq!(correlation(&[(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]), None);
        assert_eq!(correlation(&pairs[..2]), None);
    }

    #[test]
    fn what_comes_more_often_has_a_ratio_above_one() {
        let ratio = |recent, before| rate_ratio_bound(recent, before, 4.0, 1.645);
        assert!(ratio(6, 3) > 1.0 && ratio(3, 12) < 1.0 && ratio(0, 5) == 0.0);
        assert!(ratio(8, 0) > ratio(3, 0) && ratio(3, 0) > ratio(3, 3));
        assert!(ratio(1, 0) < ratio(3, 1), "one case is little");
    }

    #[test]
    fn a_share_of_little_is_not_sure() {
        assert!(share_bound(3, 3, 0.05) < 0.5);
        assert!(share_bound(5, 5, 0.05) > 0.6);
        assert!(share_bound(70, 100, 0.05) > 0.6);
        assert!(share_bound(7, 10, 0.05) < 0.5);
    }
}
