//! Mentions of a criterion: `AC-2`, `covers: AC-2`, `pagination/AC-2`, and `test_ac_2_size` in an identifier.

use std::sync::LazyLock;

use regex::Regex;

/// Mentions of one text; further ones are not looked at.
const MENTIONS_MAX: usize = 50;

/// A criterion that a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CriterionMention {
    /// The number of the id.
    pub number: u32,
    /// What is before the slash in `pagination/AC-2`.
    pub slug: Option<String>,
}

impl CriterionMention {
    /// Whether it names this criterion of the PRP with this slug; without a slug it may be any PRP's.
    pub(crate) fn names_criterion(&self, number: u32, slug: Option<&str>) -> bool {
        let is_of_prp = self.slug.as_deref().is_none_or(|own| slug.is_some_and(|slug| own.eq_ignore_ascii_case(slug)));
        self.number == number && is_of_prp
    }
}

static IN_TEXT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)(?:([A-Za-z0-9][\w.-]*)/)?\bAC[-_]0*([0-9]{1,6})").expect("a valid pattern"));
/// A name has words instead of blanks: `test_ac_2_size`, `TestAC2Size`, `ac2`.
static IN_NAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:(?:^|_)(?i:ac)_?|[a-z0-9]AC_?|^AC_?)0*([0-9]{1,6})").expect("a valid pattern"));

/// The criteria that a text of words names. `AC-10` does not name `AC-1`, and neither does `AC-1.2`.
pub(crate) fn mentions_in_text(text: &str) -> Vec<CriterionMention> {
    let mut found = Vec::new();
    for groups in IN_TEXT.captures_iter(text) {
        let (Some(whole), Some(number)) = (groups.get(0), groups.get(2)) else { continue };
        let rest = &text.as_bytes()[whole.end()..];
        let next = rest.first().copied();
        let is_longer = next.is_some_and(|byte| byte.is_ascii_alphanumeric())
            || matches!(next, Some(b'.' | b'-')) && rest.get(1).is_some_and(u8::is_ascii_digit);
        let start = groups.get(1).unwrap_or(whole).start();
        // `x-AC-1` and `docs/a/AC-1` are other names.
        let before = text[..start].chars().next_back();
        let is_part = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '/'));
        if is_longer || is_part {
            continue;
        }
        if let Ok(number) = number.as_str().parse() {
            found.push(CriterionMention { number, slug: groups.get(1).map(|slug| slug.as_str().to_owned()) });
        }
        if found.len() == MENTIONS_MAX {
            break;
        }
    }
    found
}

/// The criteria that an identifier names.
pub(crate) fn mentions_in_name(name: &str) -> Vec<CriterionMention> {
    let mut found = Vec::new();
    for groups in IN_NAME.captures_iter(name).take(MENTIONS_MAX) {
        let Some(number) = groups.get(1) else { continue };
        let next = name[number.end()..].chars().next();
        if next.is_some_and(|c| c.is_ascii_digit() || c.is_ascii_lowercase()) {
            continue;
        }
        found.extend(number.as_str().parse().ok().map(|number| CriterionMention { number, slug: None }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(found: Vec<CriterionMention>) -> Vec<u32> {
        found.into_iter().map(|mention| mention.number).collect()
    }

    #[test]
    fn an_id_is_never_a_part_of_a_longer_one() {
        let cases: [(&str, &[u32]); 12] = [
            ("AC-1", &[1]),
            ("AC-10", &[10]),
            ("covers: AC-2, AC-3.", &[2, 3]),
            ("# AC-02 is slow", &[2]),
            ("AC-1.2 AC-1-2 AC-1a", &[]),
            ("MAC-1 XAC-1 x-AC-1", &[]),
            ("[AC-7](x)", &[7]),
            ("AC-1: first", &[1]),
            ("ac_4", &[4]),
            ("AC-", &[]),
            ("AC-1234567", &[]),
            ("#AC-5", &[5]),
        ];
        for (text, wanted) in cases {
            assert_eq!(numbers(mentions_in_text(text)), wanted, "{text}");
        }
    }

    #[test]
    fn names_have_ids_in_words() {
        let cases: [(&str, &[u32]); 9] = [
            ("test_ac_1_page_size", &[1]),
            ("test_ac_10", &[10]),
            ("test_ac1_x", &[1]),
            ("TestAC2PageSize", &[2]),
            ("testAC12", &[12]),
            ("test_mac_1", &[]),
            ("test_ac1b", &[]),
            ("pac_1", &[]),
            ("AC_3", &[3]),
        ];
        for (name, wanted) in cases {
            assert_eq!(numbers(mentions_in_name(name)), wanted, "{name}");
        }
    }

    #[test]
    fn a_slug_has_to_be_the_own_one() {
        let found = mentions_in_text("pagination/AC-2 other/AC-3 docs/x/AC-4");
        assert_eq!(found.len(), 2);
        assert!(found[0].names_criterion(2, Some("Pagination")) && !found[0].names_criterion(2, None));
        assert!(!found[1].names_criterion(3, Some("pagination")));
        assert!(mentions_in_text("AC-2")[0].names_criterion(2, None));
    }
}
