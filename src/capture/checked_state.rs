//! What a check depends on, as digests: the content of a receipt.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Hex digits of one input's digest: enough to see that it changed, too few to guess a secret from it.
const PART_DIGITS: usize = 8;

/// What was true before a command began and after it ended. Two equal ones are the same check of the same files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CheckedState {
    /// The work tree as a git tree, hex: every file that is tracked or that git would add.
    pub tree: String,
    /// The trees of the submodules that are checked out, by their paths.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub submodules: BTreeMap<String, String>,
    /// BLAKE3 over the work tree's path, the folder, the command key and the words of the command, 32 hex digits. Of a
    /// command whose exit code alone counts, because a person approved it in a checklist, another digest.
    pub command: String,
    /// That other digest, until it is known whether the command counted tests; in spool files alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_command: Option<String>,
    /// The environment variables that count.
    pub environment: InputDigests,
    /// The programs that the command line names, with what chooses their version.
    pub programs: InputDigests,
    /// What installers write, local settings, and the files that the settings name.
    pub dependencies: InputDigests,
    /// The same without what is the machine's own, where the settings ask for it and all programs are known tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolchain: Option<ToolchainState>,
}

/// What a check depends on outside the tree that another machine can compare.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ToolchainState {
    /// The environment variables that count everywhere.
    pub environment: InputDigests,
    /// What installers write, local settings, and the files that the settings name.
    pub dependencies: InputDigests,
    /// The names of the programs, by the keys of their versions.
    pub programs: BTreeMap<String, String>,
}

/// A group of inputs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InputDigests {
    /// BLAKE3 over all names and contents, 32 hex digits.
    pub digest: String,
    /// The first digits of each input's own digest, by its name: they only tell which one changed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, String>,
}

impl InputDigests {
    /// The same inputs with one more.
    pub fn with_part(self, name: &str, content: &[u8]) -> Self {
        let mut inputs = InputHasher::default();
        inputs.add("", self.digest.as_bytes());
        inputs.add(name, content);
        let whole = inputs.finish();
        let added = whole.parts.into_iter().filter(|(part, _)| part == name);
        InputDigests { digest: whole.digest, parts: self.parts.into_iter().chain(added).collect() }
    }
}

/// Inputs that are being collected.
#[derive(Debug, Default)]
pub struct InputHasher {
    parts: BTreeMap<String, blake3::Hasher>,
}

impl InputHasher {
    /// Adds a piece of an input's content. One that is added twice has both pieces.
    pub fn add(&mut self, name: &str, content: &[u8]) {
        let part = self.parts.entry(name.to_owned()).or_default();
        part.update(&(content.len() as u64).to_le_bytes());
        part.update(content);
    }

    /// The digests of what was added.
    pub fn finish(self) -> InputDigests {
        let mut whole = blake3::Hasher::new();
        whole.update(b"verify-run receipt inputs 1");
        let mut parts = BTreeMap::new();
        for (name, part) in self.parts {
            let part = part.finalize();
            whole.update(&(name.len() as u64).to_le_bytes());
            whole.update(name.as_bytes());
            whole.update(part.as_bytes());
            parts.insert(name, part.to_hex()[..PART_DIGITS].to_owned());
        }
        InputDigests { digest: whole.finalize().to_hex()[..32].to_owned(), parts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_pieces_of_inputs_are_distinct() {
        let of = |added: &[(&str, &str)]| {
            let mut inputs = InputHasher::default();
            added.iter().for_each(|(name, content)| inputs.add(name, content.as_bytes()));
            inputs.finish()
        };
        assert_eq!(of(&[("a", "1"), ("b", "2")]), of(&[("b", "2"), ("a", "1")]));
        let all = [
            of(&[]),
            of(&[("a", "")]),
            of(&[("a", "12")]),
            of(&[("a", "1"), ("a", "2")]),
            of(&[("a1", "2")]),
            of(&[("a", "1"), ("b", "2")]),
        ];
        for (number, one) in all.iter().enumerate() {
            assert!(all[..number].iter().all(|other| other.digest != one.digest), "{one:?}");
        }
        assert_eq!(of(&[("a", "1")]).parts["a"].len(), PART_DIGITS);
        let (one, other) = (of(&[("a", "1")]).with_part("c", b"x"), of(&[("a", "2")]).with_part("c", b"x"));
        assert_ne!(one.digest, other.digest);
        assert_eq!(one.parts.keys().collect::<Vec<_>>(), ["a", "c"]);
        assert_ne!(one, of(&[("a", "1")]).with_part("c", b"y"));
    }
}
