//! Drawings of pages as SVG: pure functions of numbers. Each says in words what it shows.

use std::fmt::Write;

use minijinja::value::Value;

use crate::base::clock::{Timestamp, UtcDay};
use crate::pattern::statistics::wilson_interval;

/// Half the width of a 95 % interval, in standard deviations.
const Z_95: f64 = 1.959_963_984_540_054;
/// The categories that have a colour of their own.
pub(super) const CATEGORIES: [&str; 8] = [
    "test_failure",
    "build_error",
    "lint_error",
    "type_error",
    "runtime_error",
    "missing_dependency",
    "config_error",
    "other",
];
/// Width and height of a large drawing.
const CHART: (f64, f64) = (640.0, 180.0);
/// What the axes take of it: left, bottom, top and right.
const MARGIN: [f64; 4] = [40.0, 22.0, 8.0, 8.0];

/// The class that gives a category its colour.
pub(super) fn category_class(category: &str) -> String {
    let number = CATEGORIES.iter().position(|known| *known == category).unwrap_or(CATEGORIES.len() - 1);
    format!("category-{}", number + 1)
}

/// Small bars, the oldest first.
pub(super) fn draw_spark(values: Vec<f64>, what: &str) -> Value {
    let most = values.iter().copied().fold(1.0, f64::max);
    let width = 6.0 * values.len() as f64;
    let numbers: Vec<String> = values.iter().map(|value| format!("{value:.0}")).collect();
    let mut svg = begin("spark", (width, 20.0), &format!("{what}: {}", numbers.join(", ")));
    for (number, value) in values.iter().enumerate() {
        let height = if *value > 0.0 { (value / most * 18.0).max(2.0) } else { 1.0 };
        let class = if *value > 0.0 { "mark" } else { "none" };
        let (x, y) = (6.0 * number as f64, 20.0 - height);
        let _ = write!(svg, "<rect class=\"{class}\" x=\"{x:.0}\" y=\"{y:.1}\" width=\"4\" height=\"{height:.1}\"/>");
    }
    end(svg)
}

/// A share as a bar.
pub(super) fn draw_share_bar(share: f64, class: &str) -> Value {
    let class = category_class(class);
    let mut svg = begin("share", (160.0, 10.0), &format!("{:.0} %", share * 100.0));
    let width = 160.0 * share.clamp(0.0, 1.0);
    let _ = write!(
        svg,
        "<rect class=\"back\" width=\"160\" height=\"10\"/><rect class=\"{class}\" width=\"{width:.1}\" height=\"10\"/>"
    );
    end(svg)
}

/// A place of a large drawing.
struct Frame {
    /// The least and the greatest value of each axis.
    x: (f64, f64),
    y: (f64, f64),
}

impl Frame {
    fn place(&self, x: f64, y: f64) -> (f64, f64) {
        let [left, bottom, top, right] = MARGIN;
        let part = |value: f64, (min, max): (f64, f64)| ((value - min) / (max - min).max(1e-9)).clamp(0.0, 1.0);
        let across = left + part(x, self.x) * (CHART.0 - left - right);
        let down = CHART.1 - bottom - part(y, self.y) * (CHART.1 - bottom - top);
        (across, down)
    }

    /// Lines and labels of the vertical axis.
    fn draw_axis(&self, svg: &mut String, labels: &[(f64, String)]) {
        for (value, label) in labels {
            let (_, y) = self.place(self.x.0, *value);
            let (left, right) = (MARGIN[0], CHART.0 - MARGIN[3]);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{left}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>\
                 <text class=\"label\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                left - 6.0,
                y + 4.0
            );
        }
    }

    /// The labels of both ends of the horizontal axis.
    fn draw_ends(svg: &mut String, [first, last]: [&str; 2]) {
        let (y, right) = (CHART.1 - 4.0, CHART.0 - MARGIN[3]);
        let _ = write!(
            svg,
            "<text class=\"label\" x=\"{}\" y=\"{y}\">{}</text>\
             <text class=\"label\" x=\"{right}\" y=\"{y}\" text-anchor=\"end\">{}</text>",
            MARGIN[0],
            escape(first),
            escape(last)
        );
    }

    fn draw_line(&self, svg: &mut String, class: &str, points: &[(f64, f64)]) {
        let path = self.path(points);
        let _ = write!(svg, "<path class=\"{class}\" d=\"{path}\"/>");
    }

    fn path(&self, points: &[(f64, f64)]) -> String {
        let mut path = String::new();
        for (number, (x, y)) in points.iter().enumerate() {
            let (x, y) = self.place(*x, *y);
            let _ = write!(path, "{}{x:.1} {y:.1}", if number == 0 { "M" } else { "L" });
        }
        path
    }
}

/// Tasks of a day, or of a longer step.
#[derive(Clone, Copy)]
struct TaskDay {
    /// Days since the epoch.
    day: f64,
    failed: f64,
    tasks: f64,
}

/// The share of tasks that fail, over the days: a line over seven days with its interval, the single days, and the line of
/// the period before.
pub(super) fn draw_task_trend(trend: &Value, from: &str, to: &str) -> Value {
    let points = |name: &str, later: f64| -> Vec<TaskDay> {
        let rows = trend.get_attr(name).ok().and_then(|rows| rows.try_iter().ok()).into_iter().flatten();
        let day = |row: &Value| day_number(&text(row, "day")) + later;
        rows.map(|row| TaskDay { day: day(&row), failed: number(&row, "tasks_failed"), tasks: number(&row, "tasks") })
            .filter(|point| point.tasks > 0.0)
            .collect()
    };
    let (begins, ends) = (day_number(from), day_number(to));
    let (now, before) = (points("points", 0.0), points("previous", ends - begins + 1.0));
    if now.len() < 2 {
        return Value::from_safe_string("<p class=\"quiet\">Too few days for a line.</p>".to_owned());
    }
    let middle = f64::midpoint(begins, ends);
    let half = |is_later: bool| match sum(now.iter().filter(|point| (point.day > middle) == is_later)) {
        (_, 0.0) => "no task ran".to_owned(),
        (failed, tasks) => format!("{:.0} % of the tasks failed", failed / tasks * 100.0),
    };
    let words = format!(
        "In the first half of these days {}, in the second half {}. The line is the share over seven days with its 95 % \
         interval, a point is a day.",
        half(false),
        half(true)
    );
    let frame = Frame { x: (begins, ends), y: (0.0, 1.0) };
    let mut svg = begin_chart(&words);
    let percent = [0.0, 0.5, 1.0].map(|share| (share, format!("{:.0} %", share * 100.0)));
    frame.draw_axis(&mut svg, &percent);
    Frame::draw_ends(&mut svg, [from, to]);
    let bounds = |point: &TaskDay| {
        let (failed, tasks) = week_before(&now, point.day);
        wilson_interval(failed as u64, tasks as u64, Z_95).map(|bound| (point.day, bound))
    };
    let low = now.iter().map(|point| bounds(point)[0]);
    let high = now.iter().rev().map(|point| bounds(point)[1]);
    frame.draw_line(&mut svg, "band", &low.chain(high).collect::<Vec<_>>());
    let line = |days: &[TaskDay]| -> Vec<(f64, f64)> {
        let share = |(failed, tasks): (f64, f64)| failed / tasks;
        days.iter().map(|point| (point.day, share(week_before(days, point.day)))).collect()
    };
    frame.draw_line(&mut svg, "line before", &line(&before));
    for point in &now {
        let (x, y) = frame.place(point.day, point.failed / point.tasks);
        let _ = write!(svg, "<circle class=\"day\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>");
    }
    frame.draw_line(&mut svg, "line", &line(&now));
    end_chart(svg)
}

/// Failed tasks and tasks of some days.
fn sum<'a>(days: impl Iterator<Item = &'a TaskDay>) -> (f64, f64) {
    days.fold((0.0, 0.0), |(failed, tasks), day| (failed + day.failed, tasks + day.tasks))
}

/// Those of the seven days that end with this one.
fn week_before(days: &[TaskDay], day: f64) -> (f64, f64) {
    sum(days.iter().filter(|point| point.day <= day && point.day > day - 7.0))
}

/// A day as days since the epoch; 0 for what is none.
fn day_number(day: &str) -> f64 {
    UtcDay::parse(day, Timestamp::default()).map_or(0.0, |day| day.begins().0 as f64 / 86_400e6)
}

/// Shares of a whole as a ring.
pub(super) fn draw_donut(rows: &Value) -> Value {
    let rows: Vec<(String, f64)> = rows
        .try_iter()
        .into_iter()
        .flatten()
        .map(|row| (text(&row, "category"), number(&row, "share")))
        .filter(|(_, share)| *share > 0.0)
        .collect();
    let words: Vec<String> =
        rows.iter().map(|(name, share)| format!("{} {:.0} %", name.replace('_', " "), share * 100.0)).collect();
    let mut svg = begin("donut", (120.0, 120.0), &format!("Failures by category: {}", words.join(", ")));
    let mut begun = 0.0;
    let round = 2.0 * std::f64::consts::PI * 44.0;
    for (category, share) in &rows {
        // Dashes on a circle: one as long as the share, at its place.
        let _ = write!(
            svg,
            "<circle class=\"ring {}\" cx=\"60\" cy=\"60\" r=\"44\" stroke-dasharray=\"{:.2} {:.2}\" stroke-dashoffset=\"{:.2}\" \
             transform=\"rotate(-90 60 60)\"/>",
            category_class(category),
            (share * round - 1.5).max(0.5),
            round,
            -begun * round
        );
        begun += share;
    }
    end(svg)
}

/// Confidence after each step of its ledger.
pub(super) fn draw_ledger(ledger: &Value) -> Value {
    let start = number(ledger, "start");
    let steps = ledger.get_attr("steps").ok().and_then(|steps| steps.try_iter().ok()).into_iter().flatten();
    let steps: Vec<(String, f64)> = steps.map(|step| (text(&step, "at"), number(&step, "after"))).collect();
    let value = steps.last().map_or(start, |(_, after)| *after);
    let counted = if steps.len() == 1 { "1 step".to_owned() } else { format!("{} steps", steps.len()) };
    let is_same = format!("{start:.2}") == format!("{value:.2}");
    let course =
        if is_same { format!("is {value:.2} after") } else { format!("went from {start:.2} to {value:.2} in") };
    let mut svg = begin_chart(&format!("Confidence {course} {counted}."));
    let frame = Frame { x: (0.0, steps.len().max(1) as f64), y: (0.0, 1.0) };
    frame.draw_axis(&mut svg, &[0.0, 0.5, 1.0].map(|value| (value, format!("{value:.1}"))));
    if let [(first, _), .., (last, _)] = &steps[..] {
        let day = |at: &str| at.get(..10).unwrap_or_default().to_owned();
        Frame::draw_ends(&mut svg, [&day(first), &day(last)]);
    }
    let mut points = vec![(0.0, start)];
    let mut level = start;
    for (number, (_, value)) in steps.iter().enumerate() {
        points.push((number as f64 + 0.5, level));
        points.push((number as f64 + 0.5, *value));
        level = *value;
    }
    points.push((steps.len().max(1) as f64, level));
    frame.draw_line(&mut svg, "line", &points);
    end_chart(svg)
}

/// A share with its interval.
pub(super) fn draw_interval(share: Option<f64>, low: f64, high: f64) -> Value {
    let words = share.map_or("no case".to_owned(), |share| format!("{:.0} %", share * 100.0));
    let text = format!("{words}, 95 % interval {:.0} % to {:.0} %", low * 100.0, high * 100.0);
    let mut svg = begin("interval", (200.0, 20.0), &text);
    let place = |share: f64| 4.0 + share.clamp(0.0, 1.0) * 192.0;
    let (low, high) = (place(low), place(high));
    let _ = write!(
        svg,
        "<line class=\"grid\" x1=\"4\" y1=\"10\" x2=\"196\" y2=\"10\"/>\
         <line class=\"line\" x1=\"{low:.1}\" y1=\"10\" x2=\"{high:.1}\" y2=\"10\"/>\
         <line class=\"line\" x1=\"{low:.1}\" y1=\"5\" x2=\"{low:.1}\" y2=\"15\"/>\
         <line class=\"line\" x1=\"{high:.1}\" y1=\"5\" x2=\"{high:.1}\" y2=\"15\"/>"
    );
    if let Some(share) = share {
        let _ = write!(svg, "<circle class=\"mark\" cx=\"{:.1}\" cy=\"10\" r=\"4\"/>", place(share));
    }
    end(svg)
}

/// The evidence of the trial over time, on a logarithmic axis.
pub(super) fn draw_evidence(history: &Value) -> Value {
    let rows: Vec<(String, f64)> = history
        .try_iter()
        .into_iter()
        .flatten()
        .map(|point| (text(&point, "at"), number(&point, "e_value").max(0.01)))
        .collect();
    let Some((_, last)) = rows.last().filter(|_| rows.len() > 1) else {
        return Value::from_safe_string("<p class=\"quiet\">Too few cases for a line.</p>".to_owned());
    };
    let finding = if *last >= 20.0 { "which is enough" } else { "20 would be enough" };
    let mut svg = begin_chart(&format!("After {} cases the evidence is {last:.1}; {finding}.", rows.len()));
    let least = rows.iter().map(|(_, value)| *value).fold(0.1, f64::min).log10();
    let most = rows.iter().map(|(_, value)| *value).fold(30.0, f64::max).log10();
    let frame = Frame { x: (0.0, rows.len() as f64 - 1.0), y: (least, most) };
    frame.draw_axis(&mut svg, &[(-1.0, "0.1".to_owned()), (0.0, "1".to_owned()), (20_f64.log10(), "20".to_owned())]);
    let day = |at: &str| at.get(..10).unwrap_or_default().to_owned();
    Frame::draw_ends(&mut svg, [&day(&rows[0].0), &day(&rows[rows.len() - 1].0)]);
    let points: Vec<(f64, f64)> = rows.iter().enumerate().map(|(n, (_, value))| (n as f64, value.log10())).collect();
    frame.draw_line(&mut svg, "line", &points);
    end_chart(svg)
}

/// Weeks whose first days are written under their bars.
const WEEKS_NAMED_MAX: usize = 8;

/// Failures of each week as bars.
pub(super) fn draw_weeks(weeks: &Value) -> Value {
    let rows: Vec<(String, f64)> =
        weeks.try_iter().into_iter().flatten().map(|row| (text(&row, "from"), number(&row, "failures"))).collect();
    let most = rows.iter().map(|(_, failures)| *failures).fold(1.0, f64::max);
    let all: f64 = rows.iter().map(|(_, failures)| failures).sum();
    let counted = |count: f64, one: &str| format!("{count:.0} {one}{}", if count == 1.0 { "" } else { "s" });
    let weeks = counted(rows.len() as f64, "week");
    let mut svg = begin_chart(&format!("{} in {weeks}, at most {most:.0} in one.", counted(all, "failure")));
    let frame = Frame { x: (0.0, rows.len().max(1) as f64), y: (0.0, most * 1.1) };
    frame.draw_axis(&mut svg, &[(0.0, "0".to_owned())]);
    if let (Some(first), Some(last)) = (rows.first(), rows.last())
        && rows.len() > WEEKS_NAMED_MAX
    {
        Frame::draw_ends(&mut svg, [&first.0, &last.0]);
    }
    for (number, (from, failures)) in rows.iter().enumerate() {
        let (left, top) = frame.place(number as f64, *failures);
        let (right, bottom) = frame.place(number as f64 + 1.0, 0.0);
        let (middle, width) = (f64::midpoint(left, right), (right - left - 4.0).clamp(1.0, 48.0));
        let _ = write!(
            svg,
            "<rect class=\"mark\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{:.1}\"/>",
            middle - width / 2.0,
            bottom - top
        );
        if rows.len() <= WEEKS_NAMED_MAX {
            let text = |y: f64, text: &str| {
                format!("<text class=\"label\" x=\"{middle:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{text}</text>")
            };
            svg.push_str(&text(top - 4.0, &format!("{failures:.0}")));
            svg.push_str(&text(CHART.1 - 4.0, &escape(from)));
        }
    }
    end_chart(svg)
}

/// A large drawing under a sentence that says what it shows; for who can't see it the sentence is all there is to it.
fn begin_chart(words: &str) -> String {
    let (width, height) = CHART;
    format!(
        "<figure class=\"chart\"><figcaption>{}</figcaption><svg width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" aria-hidden=\"true\">",
        escape(words)
    )
}

fn end_chart(svg: String) -> Value {
    Value::from_safe_string(svg + "</svg></figure>")
}

fn begin(class: &str, (width, height): (f64, f64), words: &str) -> String {
    let words = escape(words);
    format!(
        "<svg class=\"{class}\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         aria-label=\"{words}\"><title>{words}</title>"
    )
}

fn end(mut svg: String) -> Value {
    svg.push_str("</svg>");
    Value::from_safe_string(svg)
}

fn number(row: &Value, name: &str) -> f64 {
    row.get_attr(name).ok().and_then(|value| f64::try_from(value).ok()).unwrap_or(0.0)
}

fn text(row: &Value, name: &str) -> String {
    row.get_attr(name).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn escape(text: &str) -> String {
    let text = crate::base::text::one_line(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use minijinja::context;

    use super::*;

    #[test]
    fn a_drawing_says_what_it_shows_and_escapes_what_it_is_given() {
        let rows = Value::from(vec![
            context! { category => "test_failure", share => 0.75 },
            context! { category => "<b>\"", share => 0.25 },
        ]);
        let svg = draw_donut(&rows).to_string();
        assert!(svg.contains("test failure 75 %, &lt;b&gt;&quot; 25 %") && !svg.contains("<b>"), "{svg}");
        assert!(draw_spark(vec![0.0, 2.0], "failures").to_string().contains("failures: 0, 2"));
        let ledger = context! { start => 0.5, steps => vec![context! { after => 0.55 }, context! { after => 0.45 }] };
        assert!(draw_ledger(&ledger).to_string().contains("from 0.50 to 0.45 in 2 steps"));
        let weeks = Value::from(vec![context! { from => "2026-11-02", failures => 1 }]);
        assert!(draw_weeks(&weeks).to_string().contains("1 failure in 1 week, at most 1 in one."));
        assert!(draw_interval(None, 0.0, 1.0).to_string().contains("no case, 95 % interval 0 % to 100 %"));
        assert_eq!(category_class("made_up"), "category-8");
    }

    #[test]
    fn a_trend_needs_two_days_and_says_how_its_halves_differ() {
        let point = |day: &str, failed: u32| context! { day => day, tasks => 4, tasks_failed => failed };
        let trend = |points: Vec<Value>| {
            let trend = context! { points => points, previous => Vec::<Value>::new() };
            draw_task_trend(&trend, "2026-11-01", "2026-11-10").to_string()
        };
        assert!(trend(vec![point("2026-11-01", 1)]).contains("Too few"));
        let svg = trend(vec![point("2026-11-01", 1), point("2026-11-02", 3), point("2026-11-09", 1)]);
        assert!(svg.contains("first half of these days 50 % of the tasks failed"), "{svg}");
        assert!(svg.contains("in the second half 25 % of the tasks failed"), "{svg}");
        assert!(svg.contains("class=\"band\""), "{svg}");
        // A day is where it is in the period: the second day is an eighth of the way from the first to the ninth.
        let places: Vec<f64> =
            svg.split("cx=\"").skip(1).filter_map(|rest| rest.split('"').next()?.parse().ok()).collect();
        assert!((8.0 * (places[1] - places[0]) - (places[2] - places[0])).abs() < 1.0, "{places:?}");
        let svg = trend(vec![point("2026-11-08", 1), point("2026-11-09", 3)]);
        assert!(svg.contains("first half of these days no task ran"), "{svg}");
    }
}
