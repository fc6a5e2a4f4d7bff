//! How many tests ran, from the reports that runners write.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Tests whose names are kept; the others are counted.
const NAMES_MAX: usize = 50_000;

/// What a test run did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TestCounts {
    /// Tests that passed.
    pub passing: u64,
    /// Tests that failed, and errors outside of a test.
    pub failing: u64,
    /// Tests that were skipped.
    pub skipped: u64,
    /// How each test ended, by its name.
    pub tests: BTreeMap<String, TestEnd>,
}

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestEnd {
    /// It passed.
    Passed,
    /// It failed.
    Failed,
    /// It did not run.
    Skipped,
}

impl TestCounts {
    /// Tests that ran to an end.
    pub(crate) fn ran(&self) -> u64 {
        self.passing + self.failing
    }

    fn count(&mut self, name: String, end: TestEnd) {
        match end {
            TestEnd::Passed => self.passing += 1,
            TestEnd::Failed => self.failing += 1,
            TestEnd::Skipped => self.skipped += 1,
        }
        if self.tests.len() < NAMES_MAX {
            self.tests.insert(name, end);
        }
    }
}

#[derive(Deserialize)]
struct GoTestLine {
    #[serde(rename = "Action")]
    action: String,
    #[serde(rename = "Package", default)]
    package: String,
    #[serde(rename = "Test")]
    test: Option<String>,
}

/// Counts the tests of `go test -json`. A package without tests counts as nothing; one that fails without a failing test
/// counts as one failure.
///
/// # Errors
/// When no line is an event.
pub(crate) fn read_go_test(output: &str) -> Result<TestCounts, String> {
    let mut counts = TestCounts::default();
    let mut is_report = false;
    let mut failed_packages = Vec::new();
    for line in output.lines() {
        let Ok(event) = serde_json::from_str::<GoTestLine>(line) else { continue };
        is_report = true;
        let end = match event.action.as_str() {
            "pass" => TestEnd::Passed,
            "fail" => TestEnd::Failed,
            "skip" => TestEnd::Skipped,
            _ => continue,
        };
        match event.test {
            Some(test) => counts.count(format!("{}.{test}", event.package), end),
            None if end == TestEnd::Failed => failed_packages.push(event.package),
            None => {}
        }
    }
    for package in failed_packages {
        let prefix = format!("{package}.");
        if !counts.tests.iter().any(|(name, end)| *end == TestEnd::Failed && name.starts_with(&prefix)) {
            counts.failing += 1;
        }
    }
    if is_report { Ok(counts) } else { Err("go test printed no events".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_s_events_are_counted_and_a_package_without_tests_is_none() {
        let output = "{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"TestA\"}\n\
            {\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"TestA\"}\n\
            {\"Action\":\"skip\",\"Package\":\"p\",\"Test\":\"TestB\"}\n{\"Action\":\"pass\",\"Package\":\"p\"}\n\
            {\"Action\":\"skip\",\"Package\":\"q\"}\n{\"Action\":\"fail\",\"Package\":\"r\"}\n";
        let counts = read_go_test(output).expect("events");
        assert_eq!((counts.passing, counts.failing, counts.skipped), (1, 1, 1));
        assert!(read_go_test("?   p [no test files]\n").is_err());
    }
}
