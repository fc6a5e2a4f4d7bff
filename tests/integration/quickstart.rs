//! The command that README offers first.

use verify_run::run::CommandEnd;

use crate::sandbox::{Sandbox, VERIFY_RUN};
use crate::tools::toolchain;

#[test]
fn the_quickstart_shows_two_failures_and_their_lessons() {
    let mut sandbox = Sandbox::new();
    let Some(toolchain) = toolchain() else { return };
    sandbox.add_path(toolchain);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/quickstart");
    let outcome = sandbox.bare("sh").arg(script).env("VERIFY_RUN_PROGRAM", VERIFY_RUN).outcome();
    let shown = outcome.stdout();
    assert_eq!((outcome.ended, outcome.stderr()), (CommandEnd::Exit(0), ""), "{shown}");
    assert_eq!(shown.matches("== Same output and same exit code (101) as without verify-run").count(), 2, "{shown}");
    assert_eq!(shown.matches("\ncategory: ").count(), 2, "{shown}");
    let lessons = shown.split_once("== What it remembers").expect("the list of lessons").1;
    for words in ["tests::water_boils_at_100", "right: 100.0", "E0308", "mismatched types", "examples/report.rs"] {
        assert!(lessons.contains(words), "{words:?} is missing in {lessons}");
    }
    assert_eq!(std::fs::read_dir(sandbox.tmp()).expect("the temporary folder").count(), 0, "it cleans up");
}
