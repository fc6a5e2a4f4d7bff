use super::*;
use crate::base::tree::EmptyTree;
use crate::diagnose::{DiagnosisInput, diagnose_output};
use crate::run::CommandEnd;

const USER: usize = 1;
const PROJECT: usize = 0;

fn file(name: &str, layer: usize, text: &str) -> DefinitionFile {
    DefinitionFile { file: PathBuf::from(name), layer, text: text.to_owned(), attached: Vec::new() }
}

/// A tool whose findings look like `!! src/a.x@3 message`.
fn tool(name: &str, mark: &str) -> String {
    format!(
        "[[tool]]\nname = \"{name}\"\n[[tool.rule]]\nkind = \"item\"\nneeds = \"{mark} \"\n\
         regex = '^{mark} (?P<file>[^@]+)@(?P<line>[0-9]+) (?P<message>.+)$'\n"
    )
}

fn found_by(definitions: &DefinitionSet, output: &str) -> Vec<(String, Option<String>, Option<u32>)> {
    let diagnosis = diagnose_output(&DiagnosisInput {
        output: output.as_bytes(),
        command: "",
        tool: None,
        kind: None,
        ended: CommandEnd::Exit(1),
        dir: "",
        root: "",
        tree: &EmptyTree,
        baseline: None,
        definitions,
    });
    diagnosis.items.into_iter().map(|item| (item.tool, item.file, item.line)).collect()
}

#[test]
fn the_project_wins_over_the_user_and_the_user_over_what_is_shipped() {
    let output = "!! src/a.x@3 wrong\n";
    let files = [file("p.toml", PROJECT, &tool("mine", "!!")), file("u.toml", USER, &tool("mine", "##"))];
    let (definitions, faults) = DefinitionSet::from_layers(&files, &CategoryTable::default());
    assert_eq!(faults, []);
    assert_eq!(found_by(&definitions, output), [("mine".to_owned(), Some("src/a.x".to_owned()), Some(3))]);
    // The user's definition of the same name is replaced as a whole, not mixed in.
    assert_eq!(found_by(&definitions, "## src/a.x@3 wrong\n"), []);
    let (definitions, _) =
        DefinitionSet::from_layers(&[file("u.toml", USER, &tool("tsc", "!!"))], &CategoryTable::default());
    assert_eq!(found_by(&definitions, output)[0].0, "tsc");
    let tsc = "src/a.ts(1,2): error TS2304: Cannot find name 'x'.\n";
    assert!(found_by(&definitions, tsc).iter().all(|(tool, ..)| tool != "tsc"));
    assert_eq!(found_by(&DefinitionSet::shipped_only(), tsc)[0].0, "tsc");
}

#[test]
fn remove_takes_lower_definitions_away_and_names_what_it_misses() {
    let tsc = "src/a.ts(1,2): error TS2304: Cannot find name 'x'.\n";
    let (definitions, faults) = DefinitionSet::from_layers(
        &[file("p.toml", PROJECT, "remove = [\"tsc\", \"missing\"]\n")],
        &CategoryTable::default(),
    );
    assert!(definitions.definition_names().all(|name| name != "tsc"));
    assert!(found_by(&definitions, tsc).iter().all(|(tool, ..)| tool != "tsc"));
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].reason.contains("`missing`"), "{faults:?}");
}

#[test]
fn a_broken_file_leaves_the_others_in_force() {
    let files = [
        file("a.toml", PROJECT, "[[tool]]\nname = \"a\"\nrule = 3\n"),
        file("b.toml", PROJECT, &tool("mine", "!!")),
        file("c.toml", PROJECT, "verify_run_schema = 2\n"),
    ];
    let (definitions, faults) = DefinitionSet::from_layers(&files, &CategoryTable::default());
    assert_eq!(found_by(&definitions, "!! src/a.x@3 wrong\n")[0].0, "mine");
    let said: Vec<_> = faults.iter().map(|fault| (fault.file.to_str(), fault.line, fault.without)).collect();
    assert_eq!(said, [(Some("a.toml"), Some(3), THE_FILE), (Some("c.toml"), None, THE_FILE)]);
}

#[test]
fn a_rule_that_cannot_hold_names_its_line_and_the_others_of_its_tool_hold() {
    let text = tool("mine", "!!")
        + "[[tool.rule]]\nkind = \"drop\"\nneeds = \"\"\nregex = '^x'\n\
           [[tool.rule]]\nkind = \"note\"\nneeds = \"(\"\nregex = '^(x'\n";
    let files = [file("p.toml", PROJECT, &text)];
    let (definitions, faults) = DefinitionSet::from_layers(&files, &CategoryTable::default());
    assert_eq!(found_by(&definitions, "!! src/a.x@3 wrong\n")[0].0, "mine");
    assert_eq!((faults.len(), faults[0].line, faults[0].without), (1, Some(10), THE_RULE));
    let faults = definitions.check_files(&files);
    assert_eq!((faults.len(), faults[0].line), (1, Some(14)), "{faults:?}");
    assert!(faults[0].reason.starts_with("`mine`, rule 3 (note): the regex does not compile: "), "{faults:?}");
}

#[test]
fn a_failing_inline_test_says_expected_and_got_and_which_rule_matched() {
    let text = tool("mine", "!!")
        + "[[tool.test]]\ninput = \"!! src/a.x@3 wrong\"\nexpect = [{ file = \"src/a.x\", line = 3 }]\n\
           [[tool.test]]\ninput = \"!! src/a.x@3 wrong\"\nexpect = [{ file = \"src/b.x\" }]\n";
    let files = [file("p.toml", PROJECT, &text)];
    let (definitions, faults) = DefinitionSet::from_layers(&files, &CategoryTable::default());
    assert_eq!(faults, []);
    let faults = definitions.check_files(&files);
    assert_eq!((faults.len(), faults[0].line, faults[0].without), (1, Some(11), None), "{faults:?}");
    let reason = &faults[0].reason;
    for part in [
        "`mine`, test 2",
        "expected { file = \"src/b.x\" }",
        "got { tool = \"mine\", file = \"src/a.x\"",
        "rule 1 (item)",
    ] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
}

#[test]
fn a_definition_may_stand_once_in_a_folder() {
    let files = [file("a.toml", PROJECT, &tool("mine", "!!")), file("b.toml", PROJECT, &tool("mine", "##"))];
    let (definitions, faults) = DefinitionSet::from_layers(&files, &CategoryTable::default());
    assert_eq!((faults.len(), faults[0].line, faults[0].without), (1, Some(2), THE_DEFINITION));
    assert_eq!(found_by(&definitions, "!! src/a.x@3 wrong\n")[0].0, "mine");
}

#[test]
fn an_imported_errorformat_claims_its_lines_and_a_broken_part_names_its_tool() {
    let text = "[[tool]]\nname = \"odd\"\nerrorformat = [\"%E%f line %l\", \"%Z  %m\"]\n\
                [[tool]]\nname = \"bad\"\nmatcher = \"none.json\"\nerrorformat = \"%y\"\n";
    let (definitions, faults) = DefinitionSet::from_layers(&[file("p.toml", PROJECT, text)], &CategoryTable::default());
    let output = "start\nsrc/a.x line 3\n  is wrong\nsrc/b.x:5:1: error: of another tool\n";
    let found = found_by(&definitions, output);
    assert_eq!(found[0], ("odd".to_owned(), Some("src/a.x".to_owned()), Some(3)));
    assert_eq!(found[1].1.as_deref(), Some("src/b.x"));
    let said: Vec<_> = faults.iter().map(|fault| (fault.line, fault.reason.as_str())).collect();
    let expected = [
        (Some(5), "`bad`: errorformat: `%y`: `%y` is not known at the start"),
        (Some(5), "`bad`: none.json: was not read"),
    ];
    assert_eq!(said, expected);
}

/// A definition whose items, but for those with a mark, are of a category of the project's own.
const SCANNER: &str = "# ours\n[[tool]]\nname = \"scan\"\ncategory = \"security_issue\"\n\
    [[tool.rule]]\nkind = \"item\"\nneeds = \"!! \"\nregex = '^!! (?P<file>[^@]+)@(?P<line>[0-9]+) (?P<message>.+)$'\n\
    [[tool.rule]]\nkind = \"item\"\nneeds = \"## \"\nregex = '^## (?P<message>.+)$'\ncategory = \"lint_error\"\n\
    [[tool.test]]\ninput = \"!! a.x@3 wrong\"\nexpect = [{ file = \"a.x\" }]\ncategory = \"security_issue\"\n";

fn category_of(definitions: &DefinitionSet, output: &str) -> String {
    let (ended, tree) = (CommandEnd::Exit(1), &EmptyTree);
    let (command, tool, kind, dir, root, baseline) = ("scan", None, None, "", "", None);
    let output = output.as_bytes();
    let input = DiagnosisInput { output, command, tool, kind, ended, dir, root, tree, baseline, definitions };
    diagnose_output(&input).category.expect("it failed").as_str().to_owned()
}

#[test]
fn a_declared_category_is_one_like_any_other_and_wins_a_tie() {
    let files = [file("p.toml", PROJECT, SCANNER)];
    let categories = CategoryTable::of(&[("security_issue", "a scanner found something")]);
    let (definitions, faults) = DefinitionSet::from_layers(&files, &categories);
    assert_eq!((faults, definitions.check_files(&files)), (Vec::new(), Vec::new()));
    assert_eq!(category_of(&definitions, "!! a.x@3 wrong\n"), "security_issue");
    assert_eq!(category_of(&definitions, "## wrong\n!! a.x@3 wrong\n"), "security_issue");
    assert_eq!(category_of(&definitions, "## wrong\n!! a.x@3 wrong\n## bad\n"), "lint_error");
}

#[test]
fn a_category_that_nobody_declared_is_named_with_its_line_and_what_there_is() {
    let weak = file("u.toml", USER, &tool("scan", "!!"));
    let strong = file("p.toml", PROJECT, &format!("{SCANNER}{}", tool("mine", "%%")));
    let categories = CategoryTable::of(&[("flaky_network", "the other side was away")]);
    let (definitions, faults) = DefinitionSet::from_layers(&[strong, weak], &categories);
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!((faults[0].line, faults[0].without), (Some(4), THE_DEFINITION));
    let reason = &faults[0].reason;
    for part in ["`scan`: unknown category `security_issue`", "lint_error", "flaky_network", "verify-run.toml"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    assert_eq!(found_by(&definitions, "!! a.x@3 wrong\n")[0].0, "scan", "the user's holds");
    assert_eq!(found_by(&definitions, "%% a.x@3 wrong\n")[0].0, "mine", "and the rest of the file");
    for place in ["empty = \"odd\"", "category_of = { x = \"odd\" }"] {
        let text = format!("[[tool]]\nname = \"scan\"\n\n{place}\n");
        let (_, faults) = DefinitionSet::from_layers(&[file("p.toml", PROJECT, &text)], &categories);
        assert_eq!((faults.len(), faults[0].line), (1, Some(4)), "{place}");
    }
    let rule = format!("{}category = \"odd\"\n", tool("scan", "!!"));
    let (_, faults) = DefinitionSet::from_layers(&[file("p.toml", PROJECT, &rule)], &categories);
    assert_eq!((faults.len(), faults[0].line), (1, Some(7)), "{faults:?}");
    let bad = "[[tool]]\nname = \"scan\"\ncategory = \"Security Issue\"\n";
    let (_, faults) = DefinitionSet::from_layers(&[file("p.toml", PROJECT, bad)], &categories);
    assert_eq!((faults.len(), faults[0].line, faults[0].without), (1, Some(3), THE_FILE), "{faults:?}");
}
