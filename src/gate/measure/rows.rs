//! Hashes of rows of tokens by which the files that may hold a copy are found, and the form in which they are kept: only
//! files that share a row with a change have to be read whole. Kept hashes choose what is read; what is a copy is decided
//! by the tokens themselves.

use std::collections::{BTreeMap, HashMap};

use super::duplication::{PLACES_MAX, family_of, hash_file};
use super::{MeasureError, SOURCE_BYTES_MAX, SourceLanguage};

/// The form of kept hashes and the way in which they are made. It rises with every change of the scanner or of the hashes,
/// which a test notices.
const ROWS_VERSION: u32 = 1;
/// The start of the file.
const MAGIC: &[u8; 8] = b"vrunrows";
/// Hashes that are kept, bytes; beyond that those of other trees are forgotten.
pub(crate) const ROWS_BYTES_MAX: usize = 32 << 20;
/// Hashes of one tree; a larger one is not compared.
const TREE_HASHES_MAX: usize = 8_000_000;
/// Bits of the table that tells most hashes apart from those of a change.
const FILTER_BITS: usize = 1 << 16;

/// The hashes of a file's rows, in the order of the rows.
pub(crate) type RowHashes = Vec<u64>;

/// A file by the hash of its content, and the family of languages that it is read as.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RowKey {
    id: String,
    family: u8,
}

impl RowKey {
    /// The key of a content in a language.
    pub(crate) fn new(id: &str, language: SourceLanguage) -> RowKey {
        RowKey { id: id.to_owned(), family: family_of(language) }
    }
}

/// The hashes of a text's rows.
///
/// # Errors
/// When the text is too long.
pub(crate) fn hash_rows(language: SourceLanguage, text: &str) -> Result<RowHashes, MeasureError> {
    if text.len() > SOURCE_BYTES_MAX {
        return Err(MeasureError::TooLong);
    }
    Ok(hash_file(language, text).fingerprints.into_iter().map(|(hash, _)| hash).collect())
}

/// Chooses the files that may hold a copy of a change's code.
#[derive(Debug)]
pub(crate) struct CopyCandidates {
    /// The hashes of the change, each with the number of places that were seen.
    places: HashMap<u64, usize, foldhash::fast::FixedState>,
    filter: Vec<u64>,
    hashes: usize,
}

impl CopyCandidates {
    /// For the changed files with these rows.
    pub(crate) fn new<'a>(changed: impl IntoIterator<Item = &'a RowHashes>) -> CopyCandidates {
        let mut candidates =
            CopyCandidates { places: HashMap::default(), filter: vec![0; FILTER_BITS / 64], hashes: 0 };
        for hash in changed.into_iter().flatten() {
            candidates.places.insert(*hash, 0);
            let bit = *hash as usize % FILTER_BITS;
            candidates.filter[bit / 64] |= 1 << (bit % 64);
        }
        candidates
    }

    /// Whether a file has to be compared. Every file of the tree is asked about, in the order of the paths: of a row at many
    /// places only the first ones are compared.
    ///
    /// # Errors
    /// When the tree has too many rows.
    pub(crate) fn includes(&mut self, rows: &[u64]) -> Result<bool, MeasureError> {
        self.hashes += rows.len();
        if self.hashes > TREE_HASHES_MAX {
            return Err(MeasureError::IndexFull);
        }
        let mut is_candidate = false;
        for hash in rows {
            let bit = *hash as usize % FILTER_BITS;
            if self.filter[bit / 64] >> (bit % 64) & 1 == 0 {
                continue;
            }
            if let Some(places) = self.places.get_mut(hash).filter(|places| **places < PLACES_MAX) {
                *places += 1;
                is_candidate = true;
            }
        }
        Ok(is_candidate)
    }
}

/// Hashes that were made before.
#[derive(Debug, Default)]
pub(crate) struct KeptRows {
    rows: HashMap<RowKey, RowHashes, foldhash::fast::FixedState>,
    added: usize,
}

impl KeptRows {
    /// Reads what [`KeptRows::to_bytes`] wrote; nothing where that is damaged or of another version.
    pub(crate) fn from_bytes(bytes: &[u8]) -> KeptRows {
        KeptRows { rows: parse_rows(bytes).unwrap_or_default(), added: 0 }
    }

    /// The hashes of a file; `None` where they have to be made.
    pub(crate) fn find(&self, key: &RowKey) -> Option<&RowHashes> {
        self.rows.get(key)
    }

    /// Adds the hashes of a file.
    pub(crate) fn add(&mut self, key: RowKey, rows: RowHashes) {
        self.added += 1;
        self.rows.insert(key, rows);
    }

    /// Whether there is something that the file has not.
    pub(crate) fn is_grown(&self) -> bool {
        self.added > 0
    }

    /// What to write: the hashes of the tree, and of others as far as there is room. `None` for a tree with too many.
    pub(crate) fn to_bytes(&self, tree: &[RowKey]) -> Option<Vec<u8>> {
        let of_tree: BTreeMap<&RowKey, &RowHashes> =
            tree.iter().filter_map(|key| self.rows.get_key_value(key)).collect();
        let others = self.rows.iter().filter(|(key, _)| !of_tree.contains_key(key));
        let mut bytes = start_of_file();
        for (number, (key, rows)) in of_tree.iter().map(|(key, rows)| (*key, *rows)).chain(others).enumerate() {
            let size = key.id.len() + 6 + rows.len() * 8;
            if bytes.len() + size > ROWS_BYTES_MAX {
                if number < of_tree.len() {
                    return None;
                }
                break;
            }
            bytes.push(u8::try_from(key.id.len()).ok()?);
            bytes.extend_from_slice(key.id.as_bytes());
            bytes.push(key.family);
            bytes.extend_from_slice(&u32::try_from(rows.len()).ok()?.to_le_bytes());
            rows.iter().for_each(|hash| bytes.extend_from_slice(&hash.to_le_bytes()));
        }
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        Some(bytes)
    }
}

/// The first bytes: what made the file.
fn start_of_file() -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&ROWS_VERSION.to_le_bytes());
    bytes
}

/// It notices damage, not malice.
fn checksum(bytes: &[u8]) -> u64 {
    use std::hash::BuildHasher as _;
    foldhash::quality::FixedState::with_seed(u64::from(ROWS_VERSION)).hash_one(bytes)
}

fn parse_rows(bytes: &[u8]) -> Option<HashMap<RowKey, RowHashes, foldhash::fast::FixedState>> {
    let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(8)?)?;
    if u64::from_le_bytes(sum.try_into().ok()?) != checksum(content) {
        return None;
    }
    let mut rest = content.strip_prefix(start_of_file().as_slice())?;
    let mut rows = HashMap::default();
    while let Some((length, after)) = rest.split_first() {
        let (id, after) = after.split_at_checked(usize::from(*length))?;
        let (family, after) = after.split_first()?;
        let (count, after) = after.split_at_checked(4)?;
        let count = u32::from_le_bytes(count.try_into().ok()?) as usize;
        let (hashes, after) = after.split_at_checked(count.checked_mul(8)?)?;
        let hashes = hashes.chunks_exact(8).map(|hash| u64::from_le_bytes(hash.try_into().unwrap_or_default()));
        rows.insert(RowKey { id: std::str::from_utf8(id).ok()?.to_owned(), family: *family }, hashes.collect());
        rest = after;
    }
    Some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code of many rows in a language, another for another number.
    fn code(language: SourceLanguage, number: usize) -> String {
        let line = |n: usize| match language {
            SourceLanguage::Python => format!("total_{n} = rate_{number} * {n} + offset(\"{n}\")  # {n}\n"),
            SourceLanguage::Lua => format!("local total_{n} = rate_{number} * {n} + offset(\"{n}\") -- {n}\n"),
            SourceLanguage::Rust => format!("let total_{n} = rate_{number} * {n} + offset(\"{n}\"); // {n}\n"),
            SourceLanguage::Go => format!("total_{n} := rate_{number} * {n} + offset(\"{n}\") // {n}\n"),
            SourceLanguage::Java => format!("int total_{n} = rate_{number} * {n} + offset(\"{n}\"); // {n}\n"),
            SourceLanguage::JavaScript | SourceLanguage::TypeScript => {
                format!("const total_{n} = rate_{number} * {n} + offset(\"{n}\"); // {n}\n")
            }
        };
        (0..40).map(line).collect()
    }

    const LANGUAGES: [SourceLanguage; 7] = [
        SourceLanguage::JavaScript,
        SourceLanguage::TypeScript,
        SourceLanguage::Python,
        SourceLanguage::Go,
        SourceLanguage::Lua,
        SourceLanguage::Rust,
        SourceLanguage::Java,
    ];

    /// Where this fails, hashes that were kept by the version before mean something else: raise [`ROWS_VERSION`], and write
    /// the new number here.
    #[test]
    fn hashes_that_were_kept_are_those_of_today() {
        let of = |language| hash_rows(language, &code(language, 1)).expect("short");
        let sum =
            LANGUAGES.iter().flat_map(|language| of(*language)).fold(0_u64, |sum, hash| sum.rotate_left(5) ^ hash);
        assert_eq!((ROWS_VERSION, sum), (1, 6_552_315_615_756_297_053));
    }

    #[test]
    fn what_is_kept_is_read_again_unless_it_is_damaged() {
        let mut kept = KeptRows::default();
        let keys: Vec<RowKey> = (0..3).map(|n| RowKey::new(&format!("{n:040}"), SourceLanguage::Rust)).collect();
        for (number, key) in keys.iter().enumerate() {
            let rows = hash_rows(SourceLanguage::Rust, &code(SourceLanguage::Rust, number)).expect("short");
            assert!(!rows.is_empty());
            kept.add(key.clone(), rows);
        }
        let bytes = kept.to_bytes(&keys[..1]).expect("a small tree");
        let again = KeptRows::from_bytes(&bytes);
        assert!(keys.iter().all(|key| again.find(key) == kept.find(key)) && !again.is_grown());
        assert_eq!(again.find(&RowKey::new(&keys[0].id, SourceLanguage::Go)), None);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(KeptRows::from_bytes(&damaged).rows.is_empty(), "byte {at}");
        }
        assert!((0..bytes.len()).all(|length| KeptRows::from_bytes(&bytes[..length]).rows.is_empty()));
    }

    #[test]
    fn a_file_with_a_common_row_is_a_candidate_up_to_a_number_of_places() {
        let of = |number| hash_rows(SourceLanguage::Go, &code(SourceLanguage::Go, number)).expect("short");
        let (changed, other) = (of(1), of(2));
        let mut candidates = CopyCandidates::new([&changed]);
        assert_eq!(candidates.includes(&other), Ok(false));
        let included = (0..100).filter(|_| candidates.includes(&changed) == Ok(true)).count();
        assert_eq!(included, PLACES_MAX);
    }
}
