//! Pages from templates: what is recorded is escaped everywhere, and characters that no screen shows are shown as their codes.

use anyhow::Context as _;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, context, escape_formatter};

use super::ask::{HttpAsk, encode_text};
use super::assets::content_name;
use super::chart;
use super::escape::escape_html;
use super::problem::HttpProblem;
use super::prose;
use super::resource::HttpResource;
use crate::base::clock::Timestamp;
use crate::base::text::ellipsis;
use crate::ops::board::RecordedKinds;

/// Steps of a template: the longest page takes a tenth of them.
const FUEL: u64 = 20_000_000;
/// A message on a page, bytes.
const MESSAGE_BYTES_MAX: usize = 2_000;

/// The pages that the rail names: address and title.
const RAIL: [(&str, &str); 18] = [
    ("/", "Overview"),
    ("/inbox", "Needs you"),
    ("/patterns", "Patterns"),
    ("/failures", "Failures"),
    ("/first-runs", "First runs"),
    ("/fixes", "Fixes"),
    ("/flakes", "Flaky checks"),
    ("/files", "Files"),
    ("/effect", "Effect"),
    ("/warnings", "Warnings"),
    ("/knowledge", "Knowledge"),
    ("/promotions", "Promotions"),
    ("/gate", "Gate"),
    ("/library", "Library"),
    ("/tasks", "Tasks"),
    ("/lessons", "Lessons"),
    ("/audit", "Audit"),
    ("/search", "Search"),
];

/// All templates with their names.
const TEMPLATES: [(&str, &str); 43] = [
    ("layout.html", include_str!("templates/layout.html")),
    ("macros.html", include_str!("templates/macros.html")),
    ("problem.html", include_str!("templates/problem.html")),
    ("problem_kind.html", include_str!("templates/problem_kind.html")),
    ("start.html", include_str!("templates/start.html")),
    ("overview.html", include_str!("templates/overview.html")),
    ("figures.html", include_str!("templates/figures.html")),
    ("figure.html", include_str!("templates/figure.html")),
    ("inbox.html", include_str!("templates/inbox.html")),
    ("patterns.html", include_str!("templates/patterns.html")),
    ("pattern.html", include_str!("templates/pattern.html")),
    ("failures.html", include_str!("templates/failures.html")),
    ("failure.html", include_str!("templates/failure.html")),
    ("run-output.html", include_str!("templates/run-output.html")),
    ("run.html", include_str!("templates/run.html")),
    ("first-runs.html", include_str!("templates/first-runs.html")),
    ("fixes.html", include_str!("templates/fixes.html")),
    ("fix.html", include_str!("templates/fix.html")),
    ("flakes.html", include_str!("templates/flakes.html")),
    ("files.html", include_str!("templates/files.html")),
    ("effect.html", include_str!("templates/effect.html")),
    ("warnings.html", include_str!("templates/warnings.html")),
    ("knowledge.html", include_str!("templates/knowledge.html")),
    ("entry.html", include_str!("templates/entry.html")),
    ("promotions.html", include_str!("templates/promotions.html")),
    ("promotion.html", include_str!("templates/promotion.html")),
    ("gate.html", include_str!("templates/gate.html")),
    ("gate_macros.html", include_str!("templates/gate_macros.html")),
    ("gate-cycle.html", include_str!("templates/gate-cycle.html")),
    ("gate-report.html", include_str!("templates/gate-report.html")),
    ("library.html", include_str!("templates/library.html")),
    ("library-page.html", include_str!("templates/library-page.html")),
    ("library-jobs.html", include_str!("templates/library-jobs.html")),
    ("library-job.html", include_str!("templates/library-job.html")),
    ("tasks.html", include_str!("templates/tasks.html")),
    ("task.html", include_str!("templates/task.html")),
    ("lessons.html", include_str!("templates/lessons.html")),
    ("lesson.html", include_str!("templates/lesson.html")),
    ("audit.html", include_str!("templates/audit.html")),
    ("search.html", include_str!("templates/search.html")),
    ("filter.html", include_str!("templates/filter.html")),
    ("export.html", include_str!("templates/export.html")),
    ("diff.html", include_str!("templates/diff.html")),
];

/// What a file is made of beside its pages.
pub(super) struct ExportFrame<'a> {
    /// The style sheet.
    pub style: &'a str,
    /// SHA-256 of it, base64.
    pub digest: &'a str,
    /// Where it was recorded.
    pub root: Option<String>,
    /// What ages are counted from.
    pub moment: Timestamp,
    /// Address and title of each part.
    pub contents: Vec<[String; 2]>,
    /// What the reader has to know.
    pub notes: Vec<String>,
    /// The pages, as HTML.
    pub body: String,
}

/// The templates, ready to be filled.
pub(super) struct PageView {
    environment: Environment<'static>,
}

impl PageView {
    /// With all templates.
    pub(super) fn new() -> Self {
        PageView::with_moment(None, &[])
    }

    /// For a file as of a moment: pages have no frame, and no form to filter them.
    pub(super) fn for_export(moment: Timestamp) -> Self {
        const BARE: &str = "{% import \"macros.html\" as ui %}{% block main %}{% endblock %}";
        PageView::with_moment(Some(moment), &[("layout.html", BARE), ("filter.html", "")])
    }

    fn with_moment(moment: Option<Timestamp>, others: &[(&'static str, &'static str)]) -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
        environment.set_auto_escape_callback(|_| AutoEscape::Html);
        environment.set_fuel(Some(FUEL));
        environment.set_formatter(|out, state, value| match value.as_str().filter(|_| !value.is_safe()) {
            Some(text) => out.write_str(&escape_html(text)).map_err(minijinja::Error::from),
            None => escape_formatter(out, state, value),
        });
        add_filters(&mut environment, moment);
        for (name, text) in TEMPLATES.iter().chain(others).copied() {
            // A template that does not parse is found by a test that renders all of them.
            let _ = environment.add_template(name, text);
        }
        PageView { environment }
    }

    /// The page of a resource with its value; `end` names where the store ended when it was read.
    ///
    /// # Errors
    /// When a template asks for what the value does not have.
    pub(super) fn render_page(
        &self,
        resource: &HttpResource,
        ask: &HttpAsk,
        value: &serde_json::Value,
        next: Option<&str>,
        end: Option<&str>,
    ) -> anyhow::Result<String> {
        self.render(
            &format!("{}.html", resource.name),
            RecordedKinds::find(&ask.request),
            context! {
                title => resource.title, page => resource.page, query => ask.parameters.clone(), id => ask.path_value(0),
                parameters => resource.parameters.to_vec(), data => Value::from(Serde(value)), next => next,
                form_token => ask.form_token.clone(), theme => ask.theme.as_str(), root => ask.request.places.root.display().to_string(),
                end => end,
            },
        )
    }

    /// The page that explains why there is none; `end` as in [`PageView::render_page`].
    ///
    /// # Errors
    /// When the template is none.
    pub(super) fn render_problem(&self, problem: &HttpProblem, end: Option<&str>) -> anyhow::Result<String> {
        let is_start = problem.kind == "/problems/no-records";
        let template = if is_start { "start.html" } else { "problem.html" };
        let title = if is_start { "Nothing recorded yet" } else { problem.title };
        self.render(
            template,
            RecordedKinds::default(),
            context! { title => title, page => "", problem => Value::from(Serde(problem)), end => end },
        )
    }

    /// The page about a kind of problems.
    ///
    /// # Errors
    /// When the template is none.
    pub(super) fn render_problem_kind(
        &self,
        resource: &HttpResource,
        kind: &str,
        about: &str,
    ) -> anyhow::Result<String> {
        let page = resource.page;
        self.render(
            "problem_kind.html",
            RecordedKinds::default(),
            context! { title => kind, page => page, about => about },
        )
    }

    /// A file with all of its pages.
    ///
    /// # Errors
    /// When the template is none.
    pub(super) fn render_export(&self, frame: &ExportFrame<'_>) -> anyhow::Result<String> {
        let ExportFrame { style, digest, root, moment, contents, notes, body } = frame;
        let own = context! {
            style => Value::from_safe_string((*style).to_owned()), digest => *digest, root => Value::from(Serde(root)),
            moment => moment.rfc3339(), contents => Value::from(Serde(contents)), notes => Value::from(Serde(notes)),
            body => Value::from_safe_string(body.clone()),
        };
        self.render("export.html", RecordedKinds::default(), context! { frame => own })
    }

    fn render(&self, template: &str, kinds: RecordedKinds, own: Value) -> anyhow::Result<String> {
        let is_shown = |path: &str| match path {
            "/gate" => kinds.gate,
            "/library" => kinds.library,
            _ => true,
        };
        let rail = RAIL.iter().filter(|(path, _)| is_shown(path));
        let rail: Vec<[&str; 2]> = rail.map(|(path, title)| [*path, *title]).collect();
        let frame = context! { rail => rail, version => env!("CARGO_PKG_VERSION"), content => content_name(), ..own };
        let template = self.environment.get_template(template).context("cannot find the page's template")?;
        template.render(frame).context("cannot render the page")
    }
}

/// Adds what templates can do; ages are counted from `moment`, else from now.
fn add_filters(environment: &mut Environment<'static>, moment: Option<Timestamp>) {
    environment.add_filter("when", move |at: Value| {
        let now = moment.unwrap_or_else(Timestamp::now);
        at.as_str().map_or_else(|| Value::from("–"), |at| time_element(at, now))
    });
    environment.add_filter("percent", |share: Option<f64>| {
        share.map_or("–".to_owned(), |it| format!("{:.0} %", it * 100.0))
    });
    environment.add_filter("points", |change: f64| format!("{:+.0} points", change * 100.0));
    environment.add_filter("fixed", fixed);
    environment.add_filter("grouped", grouped);
    environment.add_filter("document", |text: &str| prose::render_document(text));
    environment.add_filter("code", |line: &str| prose::render_code_spans(line));
    environment.add_filter("diff", |diff: &str| prose::render_diff(diff));
    environment.add_filter("below", below);
    environment.add_filter("url", |text: &str| encode_text(text));
    environment.add_filter("cut", |text: &str, max: Option<usize>| ellipsis(text, max.unwrap_or(MESSAGE_BYTES_MAX)));
    environment.add_filter("lesson_id", lesson_id);
    environment.add_filter("words", |word: &str| word.replace('_', " "));
    environment.add_filter("shell", |words: Vec<String>| shell_words::join(words));
    environment.add_filter("seconds", |micros: f64| format!("{:.1} s", micros / 1e6));
    environment.add_function("with_query", with_query);
    environment.add_function("spark", chart::draw_spark);
    environment.add_function("share_bar", chart::draw_share_bar);
    environment.add_function("task_trend", chart::draw_task_trend);
    environment.add_function("donut", chart::draw_donut);
    environment.add_function("ledger_chart", chart::draw_ledger);
    environment.add_function("interval", chart::draw_interval);
    environment.add_function("evidence_chart", chart::draw_evidence);
    environment.add_function("weeks_chart", chart::draw_weeks);
    environment.add_function("category_names", || chart::CATEGORIES.map(Value::from).to_vec());
    environment.add_function("category_class", |category: &str| chart::category_class(category));
}

/// A number with this many digits after its point; what rounds to zero has no sign.
fn fixed(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    let is_zero = text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.');
    if is_zero { text.trim_start_matches('-').to_owned() } else { text }
}

/// A whole number with a comma before each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = (digits.len() + 2) % 3 + 1;
    let (head, rest) = digits.split_at(first);
    let groups = rest.as_bytes().chunks(3).map(String::from_utf8_lossy);
    groups.fold(head.to_owned(), |text, group| text + "," + &group)
}

/// A path as seen from the folder that it is in.
fn below(path: &str, folder: &str) -> String {
    let rest = path.strip_prefix(folder.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    rest.unwrap_or(path).to_owned()
}

/// The id in the name of a lesson's file: the last part of it.
fn lesson_id(file: &str) -> String {
    let stem = file.strip_suffix(".md").unwrap_or(file);
    stem.rfind("l-").map_or(stem, |at| &stem[at..]).to_owned()
}

/// The query of this page with another value of a parameter, from its first page on.
fn with_query(query: &Value, name: &str, value: Option<String>) -> String {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let names = query.try_iter().into_iter().flatten();
    let query = names.filter_map(|known| Some((text(&known)?, text(&query.get_item(&known).ok()?)?)));
    let others = query.filter(|(known, _)| known != "after" && known != name);
    let all = others.chain(value.into_iter().map(|value| (name.to_owned(), value)));
    let pairs: Vec<String> = all.map(|(name, value)| format!("{name}={}", encode_text(&value))).collect();
    format!("?{}", pairs.join("&"))
}

/// A time: its age to read, the moment to copy.
fn time_element(at: &str, now: Timestamp) -> Value {
    let Some(moment) = Timestamp::parse(at) else { return Value::from(at.to_owned()) };
    let (exact, age) = (moment.rfc3339(), moment.age_at(now));
    // HTML knows three digits of a second.
    let short = exact.get(..23).map_or_else(|| exact.clone(), |short| format!("{short}Z"));
    Value::from_safe_string(format!("<time datetime=\"{short}\" title=\"{exact}\">{age}</time>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_parses_and_is_there_for_its_page() {
        let mut environment = Environment::new();
        for (name, text) in TEMPLATES {
            if let Err(error) = environment.add_template(name, text) {
                panic!("{name}: {error:#}");
            }
        }
        let pages = crate::surface::http::routes::RESOURCES.iter().filter(|resource| !resource.is_write);
        for resource in pages {
            let name = format!("{}.html", resource.name);
            let is_page = !resource.page.is_empty() && !resource.name.is_empty();
            assert!(!is_page || TEMPLATES.iter().any(|(known, _)| *known == name), "{name}");
        }
    }

    #[test]
    fn what_is_recorded_is_escaped_and_nothing_is_hidden() {
        let mut view = PageView::new();
        view.environment.add_template("t.html", "{{ text }}").expect("a template");
        let html = view
            .render("t.html", RecordedKinds::default(), context! { text => "<b>\u{202e}\u{1b}[31m&\"'" })
            .expect("renders");
        assert_eq!(html, "&lt;b&gt;U+202EU+001B[31m&amp;&quot;&#x27;");
        assert_eq!(lesson_id("eslint-l-a-l-2krpq71t.md"), "l-2krpq71t");
        let time = time_element("<script>", Timestamp(0));
        assert!(!time.is_safe());
        let time = time_element("2026-11-21T09:15:37.123456Z", Timestamp::now()).to_string();
        assert!(time.contains("datetime=\"2026-11-21T09:15:37.123Z\" title=\"2026-11-21T09:15:37.123456Z\""), "{time}");
    }

    #[test]
    fn of_many_steps_the_newest_are_shown() {
        let mut view = PageView::new();
        let template = "{% import \"macros.html\" as ui %}{{ ui.steps(ledger, \"/all\") }}";
        view.environment.add_template("t.html", template).expect("a template");
        let step = |n: i32| context! { at => "2026-11-21T09:15:37Z", what => n.to_string(), delta => 0.1, after => f64::from(n) };
        let rows = |number| {
            let ledger = context! { start => 0.5, steps => (0..number).map(step).collect::<Vec<_>>() };
            view.render("t.html", RecordedKinds::default(), context! { ledger => ledger }).expect("renders")
        };
        let (few, many) = (rows(100), rows(976));
        assert_eq!([few.matches("<tr>").count(), many.matches("<tr>").count()], [102, 102]);
        assert!(few.contains("<td>start</td><td></td><td class=\"n\">0.50</td>") && few.contains("<td>0</td>"));
        assert!(many.contains("876 earlier steps: <a href=\"/all\">") && many.contains("<td class=\"n\">875.00</td>"));
        assert!(!many.contains("<td>875</td>") && many.contains("<td>876</td>") && many.contains("<td>975</td>"));
    }

    #[test]
    fn numbers_and_paths_are_short() {
        assert_eq!([fixed(-0.001, 2), fixed(-0.26, 1), fixed(0.0, 0)], ["0.00", "-0.3", "0"]);
        assert_eq!([0, 999, 1_000, 28_000, 1_234_567].map(grouped), ["0", "999", "1,000", "28,000", "1,234,567"]);
        assert_eq!([below("/a/b/c.md", "/a/b"), below("/a/bc.md", "/a/b")], ["c.md", "/a/bc.md"]);
    }

    #[test]
    fn another_value_begins_at_the_first_page() {
        let query = context! { after => "x", q => "a b", state => "open" };
        assert_eq!(with_query(&query, "state", Some("all".into())), "?q=a%20b&state=all");
        assert_eq!(with_query(&query, "state", None), "?q=a%20b");
    }
}
