//! Figures for Prometheus: its text format, or OpenMetrics where that is accepted.

use std::fmt::Write;

use super::ask::HttpAsk;
use super::counts::{BUCKETS_MS, RequestSums};
use super::reply::HttpReply;
use super::resource::{HttpResource, ResourceForm};
use super::site::HttpSite;
use super::specified::knowledge::EntryStatsDocument;
use crate::ops::board::Board;
use crate::ops::board::metrics::{NamedCount, RecordMetrics};
use crate::ops::knowledge;
use crate::retrieval::entry_search::EntryQueryRequest;

/// Entries that are counted.
const ENTRIES_MAX: usize = 100_000;
/// A text of figures while it is written.
struct MetricsText {
    text: String,
    is_open_metrics: bool,
}

impl MetricsText {
    /// A figure with one label, a value for each of its words.
    fn add_labelled(&mut self, (name, kind, help): (&str, &str, &str), label: &str, counts: &[NamedCount]) {
        self.begin(name, kind, help);
        for NamedCount { name: word, count } in counts {
            let _ = writeln!(self.text, "{name}{{{label}=\"{}\"}} {count}", escape_label(word));
        }
    }

    /// A figure without a label.
    fn add_value(&mut self, (name, kind, help): (&str, &str, &str), value: f64) {
        self.begin(name, kind, help);
        let _ = writeln!(self.text, "{name} {value}");
    }

    fn begin(&mut self, name: &str, kind: &str, help: &str) {
        // OpenMetrics has the name of a counter without its ending.
        let family = if self.is_open_metrics && kind == "counter" { name.trim_end_matches("_total") } else { name };
        let _ = writeln!(self.text, "# HELP {family} {help}\n# TYPE {family} {kind}");
    }

    fn add_requests(&mut self, sums: &RequestSums) {
        self.begin("verify_run_http_requests_total", "counter", "Answers by address and status.");
        for ((route, status), count) in &sums.requests {
            let route = escape_label(route);
            let labels = format!("route=\"{route}\",status=\"{status}\"");
            let _ = writeln!(self.text, "verify_run_http_requests_total{{{labels}}} {count}");
        }
        self.begin("verify_run_http_request_seconds", "histogram", "How long answers took.");
        for (limit, count) in BUCKETS_MS.iter().zip(sums.buckets) {
            let limit = format!("{:?}", *limit as f64 / 1_000.0);
            let _ = writeln!(self.text, "verify_run_http_request_seconds_bucket{{le=\"{limit}\"}} {count}");
        }
        let RequestSums { count, seconds, .. } = sums;
        let _ = writeln!(
            self.text,
            "verify_run_http_request_seconds_bucket{{le=\"+Inf\"}} {count}\nverify_run_http_request_seconds_sum {seconds}\n\
             verify_run_http_request_seconds_count {count}"
        );
    }

    fn add_records(&mut self, records: &RecordMetrics) {
        let all: [(&str, &str, &str, &str, &[NamedCount]); 8] = [
            (
                "verify_run_failures_total",
                "counter",
                "Failures that count, by category.",
                "category",
                &records.failures,
            ),
            ("verify_run_runs_total", "counter", "Recorded runs by outcome.", "outcome", &records.runs),
            ("verify_run_fixes_total", "counter", "Failures by what was tried.", "state", &records.fixes),
            ("verify_run_patterns", "gauge", "Patterns by state.", "state", &records.patterns),
            ("verify_run_warnings_total", "counter", "Shown warnings by outcome.", "outcome", &records.warnings),
            ("verify_run_held_out_total", "counter", "Held-out warnings by outcome.", "outcome", &records.held_out),
            ("verify_run_knowledge_uses_total", "counter", "Uses of entries.", "how", &records.uses),
            ("verify_run_knowledge_promotions", "gauge", "Promotions by state.", "state", &records.promotions),
        ];
        for (name, kind, help, label, counts) in all {
            self.add_labelled((name, kind, help), label, counts);
        }
        let help = "Evidence against `advice does nothing`; 20 is enough.";
        self.add_value(("verify_run_effect_e_value", "gauge", help), records.e_value);
        let help = "Tokens that reused entries saved, estimated.";
        let name = "verify_run_knowledge_tokens_saved_estimate_total";
        self.add_value((name, "counter", help), records.tokens_saved_estimate as f64);
        self.add_value(("verify_run_store_events", "gauge", "Events in the store."), records.events as f64);
    }
}

fn escape_label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// `GET /api/knowledge/metrics`
pub(super) fn reply(
    site: &HttpSite,
    _resource: &'static HttpResource,
    _form: ResourceForm,
    ask: &HttpAsk,
) -> anyhow::Result<HttpReply> {
    let is_open_metrics = ask.accepts("application/openmetrics-text");
    let mut text = MetricsText { text: String::new(), is_open_metrics };
    let asked = EntryQueryRequest { limit: Some(ENTRIES_MAX), page: 1, ..EntryQueryRequest::default() };
    let entries = EntryStatsDocument::of_entries(&knowledge::browse_entries(&ask.request, &asked)?.data.entries);
    let types: Vec<NamedCount> =
        entries.by_type.into_iter().map(|row| NamedCount { name: row.kind, count: row.count }).collect();
    text.add_labelled(("verify_run_knowledge_entries", "gauge", "Entries by type."), "type", &types);
    let opened = Board::open(&ask.request)?;
    let records = match &opened.board {
        Some(board) => board.record_metrics()?,
        None => RecordMetrics::default(),
    };
    text.add_records(&records);
    text.add_requests(&site.counts.sums());
    let version = [NamedCount { name: env!("CARGO_PKG_VERSION").to_owned(), count: 1 }];
    text.add_labelled(("verify_run_build_info", "gauge", "The version that answers."), "version", &version);
    if is_open_metrics {
        text.text.push_str("# EOF\n");
    }
    let kind = if is_open_metrics {
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    } else {
        "text/plain; version=0.0.4; charset=utf-8"
    };
    Ok(HttpReply::text(kind, text.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_quoted_and_a_counter_of_openmetrics_has_a_family() {
        let mut text = MetricsText { text: String::new(), is_open_metrics: true };
        let counts = [NamedCount { name: "a\"b\\\n".into(), count: 2 }];
        text.add_labelled(("x_total", "counter", "Help."), "kind", &counts);
        assert_eq!(text.text, "# HELP x Help.\n# TYPE x counter\nx_total{kind=\"a\\\"b\\\\\\n\"} 2\n");
    }
}
