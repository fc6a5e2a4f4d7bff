//! The examples of README.md, as they stand there.

use crate::sandbox::VERIFY_RUN;

#[test]
fn the_examples_of_the_readme_are_true() {
    trycmd::TestCases::new().register_bin("verify-run", std::path::Path::new(VERIFY_RUN)).case("README.md");
}
