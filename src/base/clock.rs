//! Time. The only module that knows `chrono`: times are stored in UTC (RFC 3339, microseconds) and shown local.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Local, NaiveDate, SecondsFormat, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An age from which on a day says more, seconds.
const AGE_SECONDS_MAX: i64 = 4 * 86_400;
/// A day, microseconds.
const DAY_US: i64 = 86_400_000_000;

/// A point in time, UTC, as microseconds since the Unix epoch.
///
/// In JSON and YAML an RFC 3339 string with a `Z`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The wall clock now. A clock before 1970 reads as the epoch.
    #[allow(clippy::disallowed_methods, reason = "the one door to the wall clock")]
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// Parses RFC 3339, any offset.
    pub fn parse(text: &str) -> Option<Self> {
        let time = DateTime::parse_from_rfc3339(text).ok()?;
        Some(Timestamp(time.with_timezone(&Utc).timestamp_micros()))
    }

    /// A time that a person types: an age (`90s`, `30m`, `2h`, `7d`, `4w` before `self`), a local day (`2026-11-21`, its
    /// beginning) or RFC 3339.
    pub fn before(self, typed: &str) -> Option<Self> {
        let age = typed.char_indices().last().and_then(|(at, unit)| {
            let seconds = match unit {
                's' => 1,
                'm' => 60,
                'h' => 3_600,
                'd' => 86_400,
                'w' => 7 * 86_400,
                _ => return None,
            };
            typed[..at].parse::<u32>().ok().map(|count| i64::from(count) * seconds)
        });
        match age {
            Some(seconds) => Some(Timestamp(self.0 - seconds * 1_000_000)),
            None => Timestamp::parse(typed).or_else(|| local_day_begins(typed)),
        }
    }

    /// Midnight UTC after a day that is written `2026-12-31`; `None` when it is no such day.
    pub fn end_of_day(day: &str) -> Option<Self> {
        let day = chrono::NaiveDate::parse_from_str(day, "%Y-%m-%d").ok()?;
        Some(Timestamp(day.succ_opt()?.and_hms_opt(0, 0, 0)?.and_utc().timestamp_micros()))
    }

    /// RFC 3339 in UTC with microseconds, `2026-11-21T09:15:37.000000Z`.
    pub fn rfc3339(self) -> String {
        self.utc().to_rfc3339_opts(SecondsFormat::Micros, true)
    }

    /// The UTC month, `2026-11`: names an event segment.
    pub fn month(self) -> String {
        self.utc().format("%Y-%m").to_string()
    }

    /// The local day, `2026-11-21`.
    pub fn local_day(self) -> String {
        self.utc().with_timezone(&Local).format("%Y-%m-%d").to_string()
    }

    /// Local date and time for people, `2026-11-21 10:15:37`.
    pub fn local(self) -> String {
        self.utc().with_timezone(&Local).format("%Y-%m-%d %H:%M:%S").to_string()
    }

    /// How long before `now` it was, for people: `just now`, `3 min ago`, `5 h ago`, `2 days ago`; the local day from a
    /// few days on, and date and time when it lies ahead.
    pub fn age_at(self, now: Timestamp) -> String {
        let seconds = now.0.saturating_sub(self.0).div_euclid(1_000_000);
        match seconds {
            ..0 => self.local(),
            0..10 => "just now".to_owned(),
            10..60 => format!("{seconds} s ago"),
            60..3_600 => format!("{} min ago", seconds / 60),
            3_600..86_400 => format!("{} h ago", seconds / 3_600),
            86_400..172_800 => "1 day ago".to_owned(),
            172_800..AGE_SECONDS_MAX => format!("{} days ago", seconds / 86_400),
            _ => self.local_day(),
        }
    }

    /// Microseconds from `earlier` to `self`; 0 when the clock went backwards.
    pub fn micros_since(self, earlier: Timestamp) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }

    /// As the operating system's files have it.
    pub fn system_time(self) -> SystemTime {
        UNIX_EPOCH + Duration::from_micros(u64::try_from(self.0).unwrap_or(0))
    }

    fn utc(self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.0).unwrap_or_default()
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// A day in UTC, as a number since 1970-01-01. In JSON `2026-11-21`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcDay(pub i64);

impl UtcDay {
    /// 0001-01-01, the first that a date can name.
    const FIRST: UtcDay = UtcDay(-719_162);
    /// 9999-12-31, the last one.
    pub const LAST: UtcDay = UtcDay(2_932_896);

    /// The day of a moment.
    pub fn of(time: Timestamp) -> Self {
        UtcDay(time.0.div_euclid(DAY_US))
    }

    /// The moment at which it begins.
    pub fn begins(self) -> Timestamp {
        Timestamp(self.0.saturating_mul(DAY_US))
    }

    /// The day that a person types at `now`: `2026-11-21`, `today`, an age in days or weeks (`30d`, `4w`), or the day of an
    /// RFC 3339 time.
    pub fn parse(typed: &str, now: Timestamp) -> Option<Self> {
        if typed == "today" {
            return Some(UtcDay::of(now));
        }
        let age =
            typed.strip_suffix('d').map(|days| (days, 1)).or_else(|| typed.strip_suffix('w').map(|weeks| (weeks, 7)));
        if let Some(count) = age.and_then(|(count, days)| Some(i64::from(count.parse::<u32>().ok()?) * days)) {
            return Some(UtcDay(UtcDay::of(now).0 - count));
        }
        let midnight = NaiveDate::parse_from_str(typed, "%Y-%m-%d").ok().and_then(|day| day.and_hms_opt(0, 0, 0));
        let time = midnight.map(|time| Timestamp(time.and_utc().timestamp_micros()));
        time.or_else(|| Timestamp::parse(typed)).map(UtcDay::of)
    }
}

impl std::fmt::Display for UtcDay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A date has four digits of a year; the days before a period may lie before the first of them.
        let day = (*self).clamp(UtcDay::FIRST, UtcDay::LAST);
        write!(f, "{}", day.begins().utc().format("%Y-%m-%d"))
    }
}

impl Serialize for UtcDay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
impl schemars::JsonSchema for UtcDay {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "UtcDay".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "date", "description": "Day in UTC"})
    }
}

fn local_day_begins(day: &str) -> Option<Timestamp> {
    let midnight = NaiveDate::parse_from_str(day, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0)?;
    // Where summer time begins at midnight there is none.
    let begins =
        midnight.and_local_timezone(Local).earliest().unwrap_or_else(|| midnight.and_utc().with_timezone(&Local));
    Some(Timestamp(begins.timestamp_micros()))
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.rfc3339())
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "date-time", "description": "Time in UTC, RFC 3339"})
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Timestamp::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("{text:?} is not an RFC 3339 time")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_normalises_the_offset() {
        let time = Timestamp::parse("2026-11-21T10:15:37.25+01:00").expect("valid");
        assert_eq!(time.rfc3339(), "2026-11-21T09:15:37.250000Z");
        assert_eq!(Timestamp::parse(&time.rfc3339()), Some(time));
        assert_eq!(time.month(), "2026-11");
    }

    #[test]
    fn ages_days_and_times_are_understood() {
        let now = Timestamp::parse("2026-11-21T10:00:00Z").expect("valid");
        let ago = |typed| now.before(typed).map(|then| now.micros_since(then) / 1_000_000);
        assert_eq!([ago("90s"), ago("30m"), ago("2h"), ago("7d")].map(Option::unwrap), [90, 1_800, 7_200, 604_800]);
        assert_eq!(now.before("2026-11-21T09:00:00Z"), Timestamp::parse("2026-11-21T09:00:00Z"));
        assert_eq!(now.before("2026-11-20").map(Timestamp::local_day).as_deref(), Some("2026-11-20"));
        for wrong in ["", "h", "-1h", "2y", "yesterday", "2026-13-01", "1.5h", "\u{e9}"] {
            assert_eq!(now.before(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_day_is_typed_as_a_date_an_age_or_a_time() {
        let now = Timestamp::parse("2026-11-21T23:30:00-02:00").expect("valid");
        let day = |typed: &str| UtcDay::parse(typed, now).map(|day| day.to_string());
        assert_eq!(day("today").as_deref(), Some("2026-11-22"), "in UTC");
        assert_eq!(day("30d").as_deref(), Some("2026-10-23"));
        assert_eq!(day("2w").as_deref(), Some("2026-11-08"));
        assert_eq!(day("2026-11-01").as_deref(), Some("2026-11-01"));
        assert_eq!(day("2026-11-01T23:00:00-05:00").as_deref(), Some("2026-11-02"));
        for wrong in ["", "d", "-1d", "yesterday", "2026-02-30", "2h"] {
            assert_eq!(day(wrong), None, "{wrong}");
        }
        assert_eq!(UtcDay::of(Timestamp(-1)), UtcDay(-1));
        assert_eq!(UtcDay::of(UtcDay(20_000).begins()), UtcDay(20_000));
        let days = [UtcDay(i64::from(i32::MIN)), UtcDay::FIRST, UtcDay::LAST, UtcDay(i64::from(i32::MAX))];
        let shown = days.map(|day| day.to_string());
        assert_eq!(shown, ["0001-01-01", "0001-01-01", "9999-12-31", "9999-12-31"]);
    }

    #[test]
    fn an_age_is_rounded_down_and_becomes_a_day() {
        let then = Timestamp::parse("2026-11-21T10:00:00Z").expect("valid");
        let age = |seconds: i64| then.age_at(Timestamp(then.0 + seconds * 1_000_000));
        let ages = [0, 9, 10, 59, 60, 3_599, 3_600, 86_399, 86_400, 172_800, 345_599].map(age);
        let read =
            "just now,just now,10 s ago,59 s ago,1 min ago,59 min ago,1 h ago,23 h ago,1 day ago,2 days ago,3 days ago";
        assert_eq!(ages.join(","), read);
        assert_eq!((age(345_600), age(-2)), (then.local_day(), then.local()));
    }

    #[test]
    fn a_clock_that_goes_backwards_gives_no_negative_duration() {
        assert_eq!(Timestamp(5).micros_since(Timestamp(9)), 0);
    }
}
