//! What a tool says while it works: what it does at the moment, how long it took, the commands that it runs. None of it
//! says why a run failed.

use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::base::limits::LINE_MATCH_BYTES_MAX;
use crate::base::text::prefix;

use super::generic;
use super::rule_regex::constant_regex;

/// Whether a line only reports progress. A line with a word for failure never does, and neither does one with a place.
pub(super) fn is_progress(line: &str) -> bool {
    static DOES: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"^(?:(?:[>*-]|\xe2\x80\xa2) ?)?(?:Analy[sz]ing|Building|Bundling|Checking|Collecting|Compiling|Configuring|Documenting|Downloaded|Downloading|Executing|Fetching|Formatting|Generating|Installing|Linking|Linting|Loading|Preparing|Processing|Reading|Resolving|Running|running|Scanning|Starting|Testing|Transforming|Updating|Validating|Verifying|Doc-tests) [^:=]*(?:\.\.\.|\xe2\x80\xa6|[^:.?!])$",
        )
    });
    static TOOK: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"^(?:(?i:total |test |elapsed |build |run )?(?:Time|time|Duration|duration|Elapsed|elapsed)(?: taken| elapsed)?:? +[~(]?[0-9][0-9.,:]* ?(?:ms|s|sec|secs|seconds|m|min|minutes|h)?\b|(?:Finished|finished|Done|Completed|Built|built|Ran|Took|took)\b.*\b(?:in|took|after) [0-9.,:]+ ?(?:ms|s|sec|secs|seconds|m|min)\b|(?:#|\xe2\x80\xa2) ?(?:[A-Za-z]+ )*(?:run|skip|todo|duration_ms|cancelled|suites|pass):? [0-9.]+$)",
        )
    });
    static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"^(?:[^ ]*/)?(?:cc|c\+\+|[a-z0-9_-]*g?(?:cc|\+\+)|clang(?:\+\+)?|ar|ranlib|ld|javac|rustc|libtool:.*)(?:-[0-9.]+)? (?:.* )?-(?:[cIlLoW]|std=|crate-)",
        )
    });
    let text = line.trim();
    let bytes = prefix(text, LINE_MATCH_BYTES_MAX).as_bytes();
    let is = |regex: &Regex| regex.is_match(bytes);
    let works = is(&DOES) || is(&TOOK) || is(&COMMAND);
    works && generic::line_strength(text).is_none() && generic::find_locations(text).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_does_and_how_long_it_took_is_progress() {
        for progress in [
            "Scanning 7 files...",
            "Checking formatting…",
            "Compiling cart v0.1.0 (/home/dev/cart)",
            "running 0 tests",
            "  Finished in 0.21 seconds (files took 0.2 seconds to load)",
            "Time: 0.36",
            "Duration  1.20s (transform 20ms)",
            "• Rules run: 2",
            "# skip 0",
            "cc -Wall -Iinclude -c src/a.c -o src/a.o",
            "/usr/bin/x86_64-linux-gnu-g++-12 -O2 -o a a.cc",
        ] {
            assert!(is_progress(progress), "{progress}");
        }
    }

    #[test]
    fn what_may_say_why_is_no_progress() {
        for telling in [
            "Running tests failed after 3 s",
            "Checking a.py:3: bad name",
            "Building is not supported here.",
            "Expected time: 3",
            "Time is 3 hours ahead of the server",
            "Compiling: cannot go on",
            "ccache: error: no space left",
            "Formatting src/a.js would change it:",
        ] {
            assert!(!is_progress(telling), "{telling}");
        }
    }
}
