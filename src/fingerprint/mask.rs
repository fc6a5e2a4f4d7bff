//! From a message to its masked texts: slots found, joined with what touches them, and kept or masked by level.

use super::scan::{Class, Level, Piece, scan};
use super::subject::{Context, bare_subject, stable, subject};
use super::vocabulary::STOP_WORDS;

/// Subjects that a pattern keeps.
const SUBJECTS_MAX: usize = 2;

/// A masked message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Masked {
    /// Subjects kept, placeholders typed.
    pub(super) pattern: String,
    /// Everything masked as `<*>`.
    pub(super) family: String,
    /// The kept subjects in order.
    pub(super) subjects: Vec<String>,
    /// What is left says too little to tell two failures apart.
    pub(super) is_weak: bool,
}

/// Part of a message after slots were joined.
#[derive(Debug, Clone)]
enum Unit {
    Text(String),
    Slot { shown: String, subjects: Vec<String> },
}

/// Masks `text`, as much as leaves a word of content.
pub(super) fn mask(text: &str) -> Masked {
    let text = unwrap_repr(text.trim());
    let context = Context::of(text);
    let levels = [Level::All, Level::Quotes, Level::Values];
    let units = levels.into_iter().map(|level| units(text, level, context)).find(|units| content_words(units) >= 1);
    let units = units.unwrap_or_else(|| self::units(text, Level::Values, context));
    let mut subjects: Vec<String> = Vec::new();
    let (mut pattern, mut family) = (String::new(), String::new());
    for unit in &units {
        match unit {
            Unit::Text(text) => {
                pattern.push_str(text);
                family.push_str(text);
            }
            Unit::Slot { shown, subjects: own } => {
                let room = SUBJECTS_MAX.saturating_sub(subjects.len());
                let kept = &own[..own.len().min(room)];
                subjects.extend_from_slice(kept);
                if kept.is_empty() {
                    pattern.push_str(shown)
                } else {
                    pattern.push_str(&format!("'{}'", kept.join("', '")))
                }
                family.push_str("<*>");
            }
        }
    }
    let is_weak = content_words(&units) < 2 && subjects.is_empty();
    Masked { pattern: tidy(&pattern), family: tidy(&family), subjects, is_weak }
}

/// A message that is one quoted sentence: `KeyError: 'No message with key 5'`, `('…',)`.
fn unwrap_repr(text: &str) -> &str {
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(",)").or_else(|| text.strip_suffix(')')));
    let inner = inner.unwrap_or(text).trim();
    for quote in ['\'', '"', '`'] {
        if let Some(inside) = inner.strip_prefix(quote).and_then(|inner| inner.strip_suffix(quote))
            && !inside.contains(quote)
            && inside.split_whitespace().count() >= 3
        {
            return inside;
        }
    }
    text
}

/// Slots found and joined.
fn units(text: &str, level: Level, context: Context) -> Vec<Unit> {
    let bare = bare_subject(text).filter(|_| level == Level::All);
    let mut raw = Vec::new();
    match bare {
        Some(range) => {
            push_pieces(&mut raw, scan(&text[..range.start], level), context);
            let kept = stable(&text[range.clone()]);
            raw.push(Unit::Slot { shown: "<name>".to_owned(), subjects: vec![kept] });
            push_pieces(&mut raw, scan(&text[range.end..], level), context);
        }
        None => push_pieces(&mut raw, scan(text, level), context),
    }
    collapse(absorb(raw))
}

fn push_pieces(units: &mut Vec<Unit>, pieces: Vec<Piece<'_>>, context: Context) {
    for piece in pieces {
        units.push(match piece {
            Piece::Text(text) => Unit::Text(text.to_owned()),
            Piece::Slot(class, text) => {
                let shown = class.placeholder();
                let shown = if class == Class::Quoted { format!("'{shown}'") } else { shown.to_owned() };
                Unit::Slot { shown, subjects: subject(class, text, context).into_iter().collect() }
            }
        });
    }
}

/// What touches a slot without a space belongs to it (`host:<num>`, `tmp<hex>.log`), but for punctuation at the ends
/// and a `key=` or `key:` in front.
fn absorb(units: Vec<Unit>) -> Vec<Unit> {
    let mut out = Vec::new();
    let mut token: Vec<Unit> = Vec::new();
    for unit in units {
        match unit {
            Unit::Text(text) => {
                for part in text.split_inclusive(char::is_whitespace) {
                    let word = part.trim_end_matches(char::is_whitespace);
                    if !word.is_empty() {
                        token.push(Unit::Text(word.to_owned()));
                    }
                    if word.len() < part.len() {
                        close_token(&mut out, &mut token);
                        out.push(Unit::Text(part[word.len()..].to_owned()));
                    }
                }
            }
            slot => token.push(slot),
        }
    }
    close_token(&mut out, &mut token);
    out
}

fn close_token(out: &mut Vec<Unit>, token: &mut Vec<Unit>) {
    let parts = std::mem::take(token);
    let is_slot = |unit: &Unit| matches!(unit, Unit::Slot { .. });
    let (Some(first), Some(last)) = (parts.iter().position(is_slot), parts.iter().rposition(is_slot)) else {
        out.extend(parts);
        return;
    };
    let text_of = |units: &[Unit]| {
        units.iter().map(|unit| if let Unit::Text(text) = unit { text.as_str() } else { "" }).collect::<String>()
    };
    let (lead, trail) = (text_of(&parts[..first]), text_of(&parts[last + 1..]));
    let is_joint = |c: char| !c.is_alphanumeric() && c != '_';
    let kept_lead = match lead.rfind(['=', ':']) {
        Some(at) => &lead[..=at],
        None => &lead[..lead.find(|c| !is_joint(c)).unwrap_or(lead.len())],
    };
    let kept_trail = &trail
        [trail.rfind(|c| !is_joint(c)).map_or(0, |at| at + trail[at..].chars().next().map_or(1, char::len_utf8))..];
    let mut slots = parts[first..=last].iter().filter(|unit| is_slot(unit)).cloned();
    let joined = first != last || kept_lead.len() < lead.len() || kept_trail.len() < trail.len();
    let slot = match slots.next() {
        Some(Unit::Slot { shown, mut subjects }) => {
            for unit in slots {
                if let Unit::Slot { subjects: more, .. } = unit {
                    subjects.extend(more);
                }
            }
            let shown = if joined { "<*>".to_owned() } else { shown };
            Unit::Slot { shown, subjects }
        }
        _ => return,
    };
    out.push(Unit::Text(kept_lead.to_owned()));
    out.push(slot);
    out.push(Unit::Text(kept_trail.to_owned()));
}

/// `<*>, <*>, <*>` is one slot: a list has as many elements as it has today.
fn collapse(units: Vec<Unit>) -> Vec<Unit> {
    let mut out: Vec<Unit> = Vec::new();
    let mut between = String::new();
    for unit in units {
        match unit {
            Unit::Text(text) => between.push_str(&text),
            Unit::Slot { shown, subjects } => {
                let list =
                    !between.is_empty() && between.chars().all(|c| c.is_whitespace() || c.is_ascii_punctuation());
                match out.last_mut() {
                    Some(Unit::Slot { shown: first, subjects: all }) if list || between.is_empty() => {
                        all.extend(subjects);
                        if *first != shown {
                            *first = "<*>".to_owned();
                        }
                    }
                    _ => {
                        out.push(Unit::Text(std::mem::take(&mut between)));
                        out.push(Unit::Slot { shown, subjects });
                    }
                }
                between.clear();
            }
        }
    }
    out.push(Unit::Text(between));
    out
}

/// Words of two letters or more that are no stop words.
fn content_words(units: &[Unit]) -> usize {
    units
        .iter()
        .filter_map(|unit| if let Unit::Text(text) = unit { Some(text) } else { None })
        .flat_map(|text| text.split(|c: char| !c.is_alphabetic()))
        .filter(|word| word.chars().count() >= 2 && !STOP_WORDS.contains(&word.to_lowercase().as_str()))
        .count()
}

/// One space between words, no punctuation at the end.
fn tidy(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.trim_end_matches(['.', ',', ';', ':', ' ']).to_owned()
}
