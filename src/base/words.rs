//! Words of a text in a normal form, so that texts of different people about the same thing have the same ones.

/// A text's words, at most: what follows is not compared.
pub const WORDS_MAX: usize = 400;

/// Words that a sentence has on any subject.
const FILLERS: [&str; 64] = [
    "a", "an", "the", "this", "that", "these", "those", "it", "its", "is", "are", "was", "were", "be", "been", "am",
    "to", "of", "in", "on", "at", "by", "for", "with", "as", "and", "or", "but", "so", "then", "there", "here", "you",
    "your", "we", "our", "i", "my", "they", "their", "do", "does", "did", "will", "would", "should", "must", "need",
    "have", "has", "had", "please", "always", "just", "also", "when", "whenever", "if", "because", "since", "make",
    "sure", "remember", "really",
];

/// Forms of one word that no rule about endings brings together.
const SAME: [(&str, &str); 36] = [
    ("db", "database"),
    ("cfg", "config"),
    ("conf", "config"),
    ("configuration", "config"),
    ("repo", "repository"),
    ("dir", "folder"),
    ("directory", "folder"),
    ("directories", "folder"),
    ("env", "environment"),
    ("fn", "function"),
    ("func", "function"),
    ("arg", "argument"),
    ("args", "argument"),
    ("param", "parameter"),
    ("params", "parameter"),
    ("dep", "dependency"),
    ("deps", "dependency"),
    ("dependencies", "dependency"),
    ("pkg", "package"),
    ("var", "variable"),
    ("vars", "variable"),
    ("auth", "authentication"),
    ("async", "asynchronous"),
    ("sync", "synchronous"),
    ("execute", "run"),
    ("executes", "run"),
    ("executing", "run"),
    ("ran", "run"),
    ("delete", "remove"),
    ("deletes", "remove"),
    ("deleting", "remove"),
    ("prior", "before"),
    ("broke", "break"),
    ("broken", "break"),
    ("cannot", "not"),
    ("wont", "not"),
];

/// The words of `text` in their order, each once: lower case, without fillers and endings, names in code taken apart
/// (`userId`, `user_id` and "user id" are the same), `n't` as `not`. At most [`WORDS_MAX`].
pub fn normalised(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let text = text.replace('’', "'");
    for raw in text.split(|c: char| !(c.is_alphanumeric() || c == '\'')) {
        let raw = raw.trim_matches('\'');
        let (raw, negated) = match raw.strip_suffix("n't") {
            Some("ca" | "wo") => ("", true),
            Some(base) => (base, true),
            None => (raw.split('\'').next().unwrap_or_default(), false),
        };
        let parts = parts(raw).into_iter().map(|part| part.to_lowercase());
        for word in parts.chain(negated.then(|| "not".to_owned())) {
            if word.is_empty() || FILLERS.contains(&word.as_str()) {
                continue;
            }
            let word = match SAME.iter().find(|(form, _)| *form == word) {
                Some((_, same)) => stem(same),
                None => stem(&word),
            };
            if found.len() < WORDS_MAX && seen.insert(word.clone()) {
                found.push(word);
            }
        }
    }
    found
}

/// `fetchUserID2` to `fetch`, `User`, `ID2`.
fn parts(word: &str) -> Vec<&str> {
    let letters: Vec<(usize, char)> = word.char_indices().collect();
    let (mut found, mut start) = (Vec::new(), 0);
    for window in 1..letters.len() {
        let ((_, before), (at, here)) = (letters[window - 1], letters[window]);
        let next = letters.get(window + 1).map(|(_, next)| *next);
        let is_hump = before.is_lowercase() && here.is_uppercase();
        // The last capital of several begins the next word: `HTTPServer`.
        let ends_capitals = before.is_uppercase() && here.is_uppercase() && next.is_some_and(char::is_lowercase);
        if is_hump || ends_capitals {
            found.push(&word[start..at]);
            start = at;
        }
    }
    found.push(&word[start..]);
    found
}

/// A word without the endings of number and tense: not its root, but the same for its usual forms.
fn stem(word: &str) -> String {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) || word.len() < 4 {
        return word.to_owned();
    }
    let mut word = word.to_owned();
    if word.ends_with("ies") && word.len() > 4 {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if word.ends_with("sses") || word.ends_with("shes") || word.ends_with("ches") || word.ends_with("xes") {
        word.truncate(word.len() - 2);
    } else if word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        word.pop();
    }
    for ending in ["ing", "ed"] {
        if let Some(base) = word.strip_suffix(ending)
            && base.len() >= 3
            && base.bytes().any(|byte| b"aeiouy".contains(&byte))
        {
            let bytes = base.as_bytes();
            let (last, before) = (bytes[bytes.len() - 1], bytes[bytes.len() - 2]);
            let doubled = last == before && !b"lsz".contains(&last);
            word = base[..base.len() - usize::from(doubled)].to_owned();
            break;
        }
    }
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_one_word() {
        for forms in [
            "cache caches cached caching",
            "run runs running executes",
            "dependency dependencies deps",
            "migration migrations",
            "fail fails failed failing",
            "directory folder dir",
            "userId user_id",
        ] {
            let words: std::collections::BTreeSet<Vec<String>> = forms.split(' ').map(normalised).collect();
            assert_eq!(words.len(), 1, "{forms}: {words:?}");
        }
    }

    #[test]
    fn what_tells_texts_apart_stays() {
        assert_eq!(normalised("Don't use port 8080!"), ["not", "use", "port", "8080"]);
        assert_eq!(normalised("You can’t"), ["not"]);
        assert_eq!(normalised("`HTTPServer.listenOn`"), ["http", "server", "listen"]);
        assert_eq!(normalised("the a of"), Vec::<String>::new());
        assert_ne!(normalised("string"), normalised("strings")[1..].to_vec());
    }
}
