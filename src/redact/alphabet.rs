//! The alphabet of a value, and whether it looks random.

/// The bytes that a value consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    /// `[0-9]`
    Digits,
    /// `[0-9a-f]`
    Hex,
    /// `[0-9a-fA-F]`
    AnyHex,
    /// `[0-9a-fA-F-]`
    HexDash,
    /// `[A-Z0-9]`
    Upper,
    /// `[A-Z0-9-]`
    UpperDash,
    /// `[A-Z2-7]`
    Base32,
    /// `[A-Za-z0-9]`
    Alnum,
    /// `[A-Za-z0-9_]`
    Word,
    /// `[A-Za-z0-9_-]`
    Url,
    /// `[A-Za-z0-9_=-]`
    UrlPadded,
    /// `[A-Za-z0-9_.=-]`
    Dotted,
    /// `[A-Za-z0-9+/=]`
    Base64,
    /// `[A-Za-z0-9+/=_.-]`
    Wide,
    /// `[A-Za-z0-9%_-]`
    Percent,
    /// Parts of an address: `[A-Za-z0-9/@_-]`
    Address,
    /// `[A-Za-z0-9_.~-]`
    Tilde,
    /// `[A-Za-z0-9_:|%-]`
    Joined,
}

impl Alphabet {
    pub(super) fn has_byte(self, b: u8) -> bool {
        let alnum = b.is_ascii_alphanumeric();
        match self {
            Alphabet::Digits => b.is_ascii_digit(),
            Alphabet::Hex => b.is_ascii_digit() || (b'a'..=b'f').contains(&b),
            Alphabet::AnyHex => b.is_ascii_hexdigit(),
            Alphabet::HexDash => b.is_ascii_hexdigit() || b == b'-',
            Alphabet::Upper => b.is_ascii_uppercase() || b.is_ascii_digit(),
            Alphabet::UpperDash => b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-',
            Alphabet::Base32 => b.is_ascii_uppercase() || (b'2'..=b'7').contains(&b),
            Alphabet::Alnum => alnum,
            Alphabet::Word => alnum || b == b'_',
            Alphabet::Url => alnum || b == b'_' || b == b'-',
            Alphabet::UrlPadded => alnum || b"_-=".contains(&b),
            Alphabet::Dotted => alnum || b"_-.=".contains(&b),
            Alphabet::Base64 => alnum || b"+/=".contains(&b),
            Alphabet::Wide => alnum || b"+/=_.-".contains(&b),
            Alphabet::Percent => alnum || b"%_-".contains(&b),
            Alphabet::Address => alnum || b"/@_-".contains(&b),
            Alphabet::Tilde => alnum || b"_.~-".contains(&b),
            Alphabet::Joined => alnum || b"_-:|%".contains(&b),
        }
    }
}

/// Bytes between which a person divides words.
const SEPARATORS: &[u8] = b"-_./+=~";

/// The bytes of a value, counted by class.
#[derive(Debug, Default)]
struct ByteSpread {
    lower: usize,
    upper: usize,
    digits: usize,
    separators: usize,
    others: usize,
    /// Words (`Token`, `HTTP`, `42`) that the value falls into.
    pieces: usize,
}

impl ByteSpread {
    fn measure_spread(value: &[u8]) -> ByteSpread {
        let mut spread = ByteSpread::default();
        let mut before = 0_u8;
        let mut in_capitals = false;
        for &b in value {
            // `Token` is one word, `ToKEn` is three.
            let goes_on = match b {
                b'a'..=b'z' => before.is_ascii_lowercase() || before.is_ascii_uppercase() && !in_capitals,
                b'A'..=b'Z' => before.is_ascii_uppercase(),
                b'0'..=b'9' => before.is_ascii_digit(),
                _ => true,
            };
            in_capitals = b.is_ascii_uppercase() && before.is_ascii_uppercase();
            match b {
                b'a'..=b'z' => spread.lower += 1,
                b'A'..=b'Z' => spread.upper += 1,
                b'0'..=b'9' => spread.digits += 1,
                b if SEPARATORS.contains(&b) => spread.separators += 1,
                _ => spread.others += 1,
            }
            spread.pieces += usize::from(!goes_on);
            before = b;
        }
        spread
    }

    fn len(&self) -> usize {
        self.lower + self.upper + self.digits + self.separators
    }

    /// Words of a language are longer than what chance puts beside each other, by the words' mean length in tenths.
    fn piece_tenths(&self) -> usize {
        10 * (self.lower + self.upper + self.digits) / self.pieces.max(1)
    }
}

/// 16 bytes or more with capitals, small letters and digits in disorder, each byte worth 3.2 bits or more. File names,
/// versions and the names of things fall into words; commit ids and checksums have one case.
pub(super) fn looks_random(value: &[u8]) -> bool {
    let padding = value.iter().rev().take_while(|&&b| b == b'=').count();
    let spread = ByteSpread::measure_spread(&value[..value.len() - padding]);
    value.len() >= 16
        && padding <= 3
        && spread.others == 0
        && spread.digits > 0
        && spread.upper > 0
        && spread.lower > 0
        && spread.separators * 5 <= spread.len()
        && spread.piece_tenths() < 26
        && !has_words(value)
        && bits_per_byte(value) >= 3.2
}

/// Separators enclose a word (`node-cache-Linux-x64-4c6f…`).
fn has_words(value: &[u8]) -> bool {
    let parts = value.split(|b| SEPARATORS.contains(b));
    let is_word = |part: &[u8]| {
        part.len() >= 4
            && part[0].is_ascii_alphabetic()
            && (part[1..].iter().all(u8::is_ascii_lowercase) || part.iter().all(u8::is_ascii_uppercase))
    };
    parts.into_iter().any(is_word)
}

/// Letters and digits that no person would write as a name: disorder of any case, or one long run without a
/// separator, as hexadecimal and Base32 keys are.
pub(super) fn is_opaque(value: &[u8], min: usize) -> bool {
    let padding = value.iter().rev().take_while(|&&b| b == b'=').count();
    let spread = ByteSpread::measure_spread(&value[..value.len() - padding]);
    let letters = spread.lower + spread.upper;
    value.len() >= min
        && spread.others == 0
        && spread.digits > 0
        && letters > 0
        && !value.starts_with(b"0x")
        && bits_per_byte(value) >= 2.6
        && (looks_random(value)
            || (value.len() >= 24 && value.iter().all(u8::is_ascii_hexdigit))
            || (spread.separators == 0 && spread.digits * 12 >= spread.len() && spread.piece_tenths() < 45)
            || (spread.separators * 5 <= spread.len() && spread.digits >= 3 && spread.piece_tenths() < 30)
            || is_uuid(value))
}

/// `8-4-4-4-12` hexadecimal digits.
pub(super) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// Shannon entropy.
pub(super) fn bits_per_byte(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for &b in value {
        counts[usize::from(b)] += 1;
    }
    let total = value.len() as f64;
    counts.iter().filter(|&&n| n > 0).map(|&n| f64::from(n) / total).map(|p| -p * p.log2()).sum()
}
