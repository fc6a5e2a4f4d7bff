//! Rules that their tools call differently now: what was off under the old name is off under the new one.
//!
//! From the tools' own lists: golangci-lint's deprecated linters, rustc's and clippy's renamed lints, RuboCop's obsolete
//! cops, typescript-eslint's deprecated rules, Ruff's remapped prefixes.

/// The old name, and the one that took its place.
const RENAMED: &[(&str, &str)] = &[
    // golangci-lint
    ("deadcode", "unused"),
    ("exportloopref", "copyloopvar"),
    ("gas", "gosec"),
    ("goerr113", "err113"),
    ("golint", "revive"),
    ("gomnd", "mnd"),
    ("gosimple", "staticcheck"),
    ("logrlint", "loggercheck"),
    ("maligned", "govet"),
    ("megacheck", "staticcheck"),
    ("nosnakecase", "revive"),
    ("scopelint", "copyloopvar"),
    ("structcheck", "unused"),
    ("stylecheck", "staticcheck"),
    ("tenv", "usetesting"),
    ("varcheck", "unused"),
    ("vet", "govet"),
    // rustc and clippy
    ("blocks_in_if_conditions", "blocks_in_conditions"),
    ("box_vec", "box_collection"),
    ("broken_intra_doc_links", "rustdoc::broken_intra_doc_links"),
    ("const_static_lifetime", "redundant_static_lifetimes"),
    ("cyclomatic_complexity", "cognitive_complexity"),
    ("derive_hash_xor_eq", "derived_hash_with_manual_eq"),
    ("identity_conversion", "useless_conversion"),
    ("if_let_some_result", "match_result_ok"),
    ("intra_doc_link_resolution_failure", "rustdoc::broken_intra_doc_links"),
    ("invalid_ref", "invalid_value"),
    ("new_without_default_derive", "new_without_default"),
    ("non_fmt_panic", "non_fmt_panics"),
    ("option_expect_used", "expect_used"),
    ("option_unwrap_used", "unwrap_used"),
    ("overflow_check_conditional", "panicking_overflow_checks"),
    ("result_expect_used", "expect_used"),
    ("result_unwrap_used", "unwrap_used"),
    ("static_mut_ref", "static_mut_refs"),
    ("stutter", "module_name_repetitions"),
    ("temporary_cstring_as_ptr", "dangling_pointers_from_temporaries"),
    ("thread_local_initializer_can_be_made_const", "missing_const_for_thread_local"),
    ("unknown_clippy_lints", "unknown_lints"),
    ("unused_doc_comment", "unused_doc_comments"),
    ("zero_width_space", "invisible_characters"),
    // RuboCop
    ("Lint/HandleExceptions", "Lint/SuppressedException"),
    ("Lint/UnneededCopDisableDirective", "Lint/RedundantCopDisableDirective"),
    ("Metrics/LineLength", "Layout/LineLength"),
    ("Naming/PredicateName", "Naming/PredicatePrefix"),
    ("Naming/UncommunicativeBlockParamName", "Naming/BlockParameterName"),
    ("Naming/UncommunicativeMethodParamName", "Naming/MethodParameterName"),
    ("Style/AlignParameters", "Layout/ParameterAlignment"),
    ("Style/FileName", "Naming/FileName"),
    ("Style/IndentHash", "Layout/FirstHashElementIndentation"),
    ("Style/MethodMissing", "Style/MissingRespondToMissing"),
    ("Style/PredicateName", "Naming/PredicatePrefix"),
    ("Style/VariableName", "Naming/VariableName"),
    // typescript-eslint
    ("@typescript-eslint/ban-ts-ignore", "@typescript-eslint/ban-ts-comment"),
    ("@typescript-eslint/no-empty-interface", "@typescript-eslint/no-empty-object-type"),
    ("@typescript-eslint/no-throw-literal", "@typescript-eslint/only-throw-error"),
    ("@typescript-eslint/no-useless-template-literals", "@typescript-eslint/no-unnecessary-template-expression"),
    ("@typescript-eslint/no-var-requires", "@typescript-eslint/no-require-imports"),
    // Ruff
    ("PGH001", "S307"),
    ("PGH002", "G010"),
    ("TCH", "TC"),
];

/// The name that a rule has now.
pub(super) fn current_name(rule: &str) -> &str {
    RENAMED.iter().find(|(old, _)| *old == rule).map_or(rule, |(_, new)| new)
}

/// Whether two names are the same but for what is in front of a code's number, or of a slash.
pub(super) fn has_other_prefix(was: &str, is: &str) -> bool {
    let number = |name: &str| name.trim_start_matches(|c: char| c.is_ascii_alphabetic()).to_owned();
    let is_code = |name: &str| {
        let digits = number(name);
        digits.len() > 1 && digits.len() < name.len() && digits.bytes().all(|b| b.is_ascii_digit())
    };
    let code = || is_code(was) && is_code(is) && number(was) == number(is) && was[..1] == is[..1];
    let last = |name: &str| {
        let (_, last) = name.rsplit_once('/')?;
        last.contains(char::is_alphanumeric).then(|| last.to_owned())
    };
    was != is && (code() || last(was).is_some() && last(was) == last(is))
}

#[cfg(test)]
mod tests {
    use super::{RENAMED, current_name};

    #[test]
    fn a_new_name_is_no_old_one() {
        assert!(RENAMED.iter().all(|(_, new)| current_name(new) == *new));
        assert_eq!(current_name("exportloopref"), "copyloopvar");
        assert_eq!(current_name("errcheck"), "errcheck");
    }
}
