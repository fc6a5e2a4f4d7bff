//! The scheme that a user chose: a cookie, so that it works without script.

use axum::http::{HeaderMap, header};

/// The cookie.
const COOKIE: &str = "verify_run_theme";
/// How long it is kept, seconds.
const AGE_MAX: u64 = 365 * 86_400;

/// The scheme of pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum PageTheme {
    /// The one of the system.
    #[default]
    System,
    Light,
    Dark,
}

impl PageTheme {
    /// All, as addresses and templates name them.
    const ALL: [(&str, PageTheme); 3] =
        [("system", PageTheme::System), ("light", PageTheme::Light), ("dark", PageTheme::Dark)];

    /// Its word.
    pub(super) fn as_str(self) -> &'static str {
        PageTheme::ALL.iter().find(|(_, theme)| *theme == self).map_or("system", |(word, _)| word)
    }

    fn from_word(word: &str) -> Option<Self> {
        PageTheme::ALL.iter().find(|(known, _)| *known == word).map(|(_, theme)| *theme)
    }

    /// The one that a browser sends.
    pub(super) fn from_cookies(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.filter(|(name, _)| *name == COOKIE).find_map(|(_, word)| PageTheme::from_word(word)).unwrap_or_default()
    }

    /// What keeps it.
    pub(super) fn cookie(self) -> String {
        format!("{COOKIE}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={AGE_MAX}", self.as_str())
    }
}

/// The theme in a query, and the query without it.
pub(super) fn take_theme(query: &str) -> (Option<PageTheme>, String) {
    let named = |pair: &&str| pair.strip_prefix("theme=").and_then(PageTheme::from_word);
    let theme = query.split('&').find_map(|pair| named(&pair));
    let others: Vec<&str> = query.split('&').filter(|pair| named(pair).is_none()).collect();
    (theme, others.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_theme_is_taken_out_of_a_query_and_kept_in_a_cookie() {
        assert_eq!(take_theme("a=1&theme=dark&b=2"), (Some(PageTheme::Dark), "a=1&b=2".to_owned()));
        assert_eq!(take_theme("theme=pink"), (None, "theme=pink".to_owned()));
        let cookie = PageTheme::Light.cookie();
        let pair = cookie.split(';').next().expect("a pair");
        let headers = HeaderMap::from_iter([(header::COOKIE, format!("x=y; {pair}").parse().expect("a value"))]);
        assert_eq!(PageTheme::from_cookies(&headers), PageTheme::Light);
        assert_eq!(PageTheme::from_cookies(&HeaderMap::new()), PageTheme::System);
    }
}
