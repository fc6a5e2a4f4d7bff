use super::*;

/// The checklist of the specification, word for word.
const LITERAL: &str = include_str!("tests/literal-checklist.yml");

fn checklist(text: &str) -> Result<Checklist, String> {
    Checklist::parse(text, "qa-checklist.yml").map_err(|error| error.to_string())
}

#[test]
fn the_shipped_checklist_has_eleven_items_of_which_seven_block() {
    let shipped = checklist(SHIPPED_CHECKLIST).expect("the shipped checklist");
    let ids: Vec<&str> = shipped.items().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["F1", "F2", "C1", "C2", "C3", "C4", "D1", "D2", "D3", "D4", "D5"]);
    let blocking: Vec<&str> = shipped.items().filter(|item| item.blocking).map(|item| item.id.as_str()).collect();
    assert_eq!(blocking, ["F1", "F2", "C1", "C2", "D1", "D2", "D5"]);
    let titles: Vec<_> = shipped.categories.iter().map(|category| category.title.as_deref()).collect();
    assert_eq!(titles, [Some("Functionality"), Some("Code quality"), Some("Documentation")]);
}

#[test]
fn the_checklist_of_the_specification_is_read() {
    let literal = checklist(LITERAL).expect("the checklist of the specification");
    let shipped = checklist(SHIPPED_CHECKLIST).expect("the shipped checklist");
    let brief = |it: &Checklist| it.items().map(|item| (item.id.clone(), item.blocking)).collect::<Vec<_>>();
    assert_eq!(brief(&literal), brief(&shipped));
    let source = |id: &str| literal.items().find(|item| item.id == id).map(|item| item.source.clone());
    assert_eq!(source("C3"), Some(ItemSource::Mapped(MappedCommand::Duplication)));
    assert_eq!(source("C4"), Some(ItemSource::Mapped(MappedCommand::Naming)));
}

#[test]
fn english_keys_mean_the_same() {
    let mut english = SHIPPED_CHECKLIST.to_owned();
    for (portuguese, word) in [
        ("funcionalidade:", "functionality:"),
        ("qualidade_codigo:", "code_quality:"),
        ("documentacao:", "documentation:"),
        ("criterio:", "criterion:"),
        ("validacao:", "validation:"),
        ("comando:", "command:"),
        ("metodo:", "method:"),
    ] {
        english = english.replace(portuguese, word);
    }
    let (english, shipped) = (checklist(&english).expect("English"), checklist(SHIPPED_CHECKLIST).expect("Portuguese"));
    assert!(english.items().eq(shipped.items()));
    assert_eq!(english_heading(&english.categories[1].key), english_heading(&shipped.categories[1].key));
}

#[test]
fn a_mistake_names_file_and_line() {
    let item = |lines: &str| format!("qa_checklist:\n  a:\n    - id: X\n{lines}");
    let rest = "      criterio: c\n      validacao: errors == 0\n      comando: make\n      blocking: true\n";
    assert!(checklist(&item(rest)).is_ok());
    let cases = [
        (item("      criterio: c\n"), "qa-checklist.yml:3: `validacao` is missing in this item"),
        (
            item(&rest.replace("errors", "erors")),
            "qa-checklist.yml:5: unknown metric \"erors\": did you mean \"errors\"?",
        ),
        (
            item(&rest.replace("      comando: make\n", "")),
            "qa-checklist.yml:3: this item has neither a `comando` nor a `metodo`",
        ),
        (
            item(&rest.replace("comando: make", "metodo: guess")),
            "qa-checklist.yml:6: unknown metodo `guess`: use one of",
        ),
        (item(&rest.replace("      blocking: true\n", "")), "qa-checklist.yml:3: `blocking` is missing in this item"),
        (item(&rest.replace("make", "make | tee log")), "qa-checklist.yml:6: '|' needs a shell: add `shell: true`"),
        (
            item(&format!("{rest}      not_applicable: {{reason: r}}\n")),
            "qa-checklist.yml:8: not_applicable needs `by`",
        ),
        (
            item(&format!("{rest}      command: other\n")),
            "qa-checklist.yml:8: `comando` and `command` are the same key",
        ),
        (item(&format!("{rest}      colour: red\n")), "qa-checklist.yml:8: unknown key `colour` in an item"),
        (item(&format!("{rest}    - id: X\n{rest}")), "qa-checklist.yml:8: item `X` occurs twice (first in line 3)"),
        (
            "qa_checklist:\n  version: \"1\"\n".to_owned(),
            "qa-checklist.yml:1: a checklist without items approves everything",
        ),
        ("qa_checklist:\n  a:\n".to_owned(), "qa-checklist.yml:2: `a` is neither `version` nor a category with items"),
        ("checks: 1\n".to_owned(), "qa-checklist.yml:1: expected the key `qa_checklist`, not `checks`"),
    ];
    for (text, expected) in cases {
        let error = checklist(&text).expect_err(&text);
        assert!(error.starts_with(expected), "{error}\n{text}");
    }
}

#[test]
fn the_shipped_mapping_has_seven_stacks_in_the_order_of_detection() {
    let mapping = ToolsMapping::parse(SHIPPED_MAPPING, "shipped").expect("the shipped mapping");
    let stacks: Vec<&str> = mapping.detection.iter().map(|markers| markers.stack.as_str()).collect();
    assert_eq!(stacks, ["node_typescript", "javascript", "python", "golang", "lua", "rust", "java"]);
    for stack in stacks {
        let commands = mapping.stack(stack).expect("its commands");
        for (command, key) in MappedCommand::ALL {
            let is_optional = command == MappedCommand::Typecheck;
            assert!(is_optional || !commands.specs(command).is_empty(), "{stack} has no {key}");
        }
    }
    assert_eq!(mapping.documents.readme[0], "README.md");
}

#[test]
fn a_mapping_of_plain_commands_is_read_and_its_mistakes_are_named() {
    let literal = "qa_tools:\n  detection:\n    python:\n      markers: [\"setup.py\"]\n  stacks:\n    python:\n      \
        test: \"pytest tests/ -v\"\n      complexity: \"radon cc . -a -nc\"\n";
    let mapping = ToolsMapping::parse(literal, "m.yml").expect("a plain mapping");
    let specs = mapping.stack("python").expect("python").specs(MappedCommand::Complexity);
    assert!(matches!(&specs[0], CommandSpec::Command { line, adapter: None, .. } if line == "radon cc . -a -nc"));
    assert_eq!(mapping.documents.changelog[0], "CHANGELOG.md", "the shipped places");
    for (from, to, expected) in [
        ("      test: ", "      tests: ", "m.yml:7: unknown key `tests` in stack `python`"),
        ("\"pytest tests/ -v\"", "{command: pytest, parse: tap}", "m.yml:7: unknown adapter `tap`"),
        ("\"pytest tests/ -v\"", "\"pytest > log\"", "m.yml:7: '>' needs a shell"),
        ("  stacks:\n    python:", "  stacks:\n    ruby:", "m.yml:1: stack `python` is detected but has no commands"),
        ("markers: [\"setup.py\"]", "exclude_markers: [a]", "m.yml:3: stack `python` has no markers"),
    ] {
        let error = ToolsMapping::parse(&literal.replace(from, to), "m.yml").expect_err(to).to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
