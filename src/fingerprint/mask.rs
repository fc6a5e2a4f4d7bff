//! From a message to its masked texts: finds slots, joins adjacent ones, and keeps or masks them by level.

use super::message::unwrap_repr;
use super::scan::{MaskLevel, MessagePiece, SlotClass, scan_message};
use super::subject::{BareWordRole, MessageContext, find_bare_words, is_demanded_version, slot_subject};
use super::vocabulary::STOP_WORDS;

/// Subjects that a pattern keeps.
const SUBJECTS_MAX: usize = 2;

/// A masked message, with how it came about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MaskedMessage {
    /// Subjects kept, placeholders typed.
    pub(super) pattern: String,
    /// Everything masked as `<*>`.
    pub(super) family: String,
    /// The kept subjects in order.
    pub(super) subjects: Vec<String>,
    /// What is left says too little to tell two failures apart.
    pub(super) is_weak: bool,
    /// What the message does with its names.
    pub(super) context: MessageContext,
    /// How much was masked.
    pub(super) level: MaskLevel,
    /// The slots in order.
    pub(super) slots: Vec<MaskedSlot>,
}

/// What is masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MaskedSlot {
    /// `None` when it is several things in one.
    pub(super) class: Option<SlotClass>,
    /// The text at that place.
    pub(super) text: String,
    /// What of it a pattern keeps.
    pub(super) subjects: Vec<String>,
}

impl MaskedSlot {
    fn placeholder_text(&self) -> String {
        match self.class {
            Some(SlotClass::Quoted) => "'<str>'".to_owned(),
            Some(class) => format!("<{}>", class.name()),
            None => "<*>".to_owned(),
        }
    }
}

/// Part of a message after slots were joined.
#[derive(Debug, Clone)]
enum MessageUnit {
    Text(String),
    Slot(MaskedSlot),
}

/// Masks `text`, as much as leaves a word of content.
pub(super) fn mask_message(text: &str) -> MaskedMessage {
    let text = unwrap_repr(text.trim());
    let context = MessageContext::from_message(text);
    let levels = [MaskLevel::All, MaskLevel::Quotes, MaskLevel::Values];
    let units = levels.into_iter().map(|level| (message_units(text, level, context), level));
    let (units, level) = units
        .into_iter()
        .find(|(units, _)| count_content_words(units) >= 1)
        .unwrap_or_else(|| (self::message_units(text, MaskLevel::Values, context), MaskLevel::Values));
    let mut subjects: Vec<String> = Vec::new();
    let (mut pattern, mut family) = (String::new(), String::new());
    for unit in &units {
        match unit {
            MessageUnit::Text(text) => {
                pattern.push_str(text);
                family.push_str(text);
            }
            MessageUnit::Slot(slot) => {
                let room = SUBJECTS_MAX.saturating_sub(subjects.len());
                let kept = &slot.subjects[..slot.subjects.len().min(room)];
                subjects.extend_from_slice(kept);
                if kept.is_empty() {
                    pattern.push_str(&slot.placeholder_text())
                } else {
                    pattern.push_str(&format!("'{}'", kept.join("', '")))
                }
                family.push_str("<*>");
            }
        }
    }
    let is_weak = count_content_words(&units) < 2 && subjects.is_empty();
    let slots = units.into_iter().filter_map(|unit| if let MessageUnit::Slot(slot) = unit { Some(slot) } else { None });
    let slots = slots.collect();
    MaskedMessage { pattern: tidy_text(&pattern), family: tidy_text(&family), subjects, is_weak, context, level, slots }
}

/// Slots found and joined.
fn message_units(text: &str, level: MaskLevel, context: MessageContext) -> Vec<MessageUnit> {
    let mut raw = Vec::new();
    let mut at = 0;
    for (range, role) in find_bare_words(text).into_iter().filter(|_| level == MaskLevel::All) {
        if range.start < at {
            continue;
        }
        push_pieces(&mut raw, &text[at..range.start], level, context);
        let kept = match role {
            BareWordRole::Subject => slot_subject(SlotClass::Name, &text[range.clone()], MessageContext::Absence),
            BareWordRole::Value => None,
        };
        let class = if role == BareWordRole::Subject { SlotClass::Name } else { SlotClass::Value };
        raw.push(MessageUnit::Slot(MaskedSlot {
            class: Some(class),
            text: text[range.clone()].to_owned(),
            subjects: kept.into_iter().collect(),
        }));
        at = range.end;
    }
    push_pieces(&mut raw, &text[at..], level, context);
    strip_brackets(collapse_lists(absorb_touching_text(raw)))
}

fn push_pieces(units: &mut Vec<MessageUnit>, text: &str, level: MaskLevel, context: MessageContext) {
    let mut before = "";
    for piece in scan_message(text, level) {
        units.push(match piece {
            MessagePiece::Text(text) => {
                before = text;
                MessageUnit::Text(text.to_owned())
            }
            MessagePiece::Slot(class, text) => {
                let demanded = is_demanded_version(class, before).then(|| text.to_owned());
                let kept = demanded.or_else(|| slot_subject(class, text, context));
                before = "";
                MessageUnit::Slot(MaskedSlot {
                    class: Some(class),
                    text: text.to_owned(),
                    subjects: kept.into_iter().collect(),
                })
            }
        });
    }
}

/// What touches a slot without a space belongs to it (`host:<num>`, `tmp<hex>.log`), but for punctuation at the ends
/// and a `key=` or `key:` in front.
fn absorb_touching_text(units: Vec<MessageUnit>) -> Vec<MessageUnit> {
    let mut out = Vec::new();
    let mut token: Vec<MessageUnit> = Vec::new();
    for unit in units {
        match unit {
            MessageUnit::Text(text) => {
                for part in text.split_inclusive(char::is_whitespace) {
                    let word = part.trim_end_matches(char::is_whitespace);
                    if !word.is_empty() {
                        token.push(MessageUnit::Text(word.to_owned()));
                    }
                    if word.len() < part.len() {
                        close_token(&mut out, &mut token);
                        out.push(MessageUnit::Text(part[word.len()..].to_owned()));
                    }
                }
            }
            slot => token.push(slot),
        }
    }
    close_token(&mut out, &mut token);
    out
}

fn close_token(out: &mut Vec<MessageUnit>, token: &mut Vec<MessageUnit>) {
    let parts = std::mem::take(token);
    let is_slot = |unit: &MessageUnit| matches!(unit, MessageUnit::Slot(_));
    let (Some(first), Some(last)) = (parts.iter().position(is_slot), parts.iter().rposition(is_slot)) else {
        out.extend(parts);
        return;
    };
    let text_of = |units: &[MessageUnit]| {
        units.iter().map(|unit| if let MessageUnit::Text(text) = unit { text.as_str() } else { "" }).collect::<String>()
    };
    let (lead, trail) = (text_of(&parts[..first]), text_of(&parts[last + 1..]));
    let kept_lead = kept_lead(&lead, &trail);
    let kept_trail = &trail
        [trail.rfind(|c| !is_joint(c)).map_or(0, |at| at + trail[at..].chars().next().map_or(1, char::len_utf8))..];
    let mut text = lead[kept_lead.len()..].to_owned();
    let (mut class, mut subjects, mut slots) = (None, Vec::new(), 0);
    for unit in &parts[first..=last] {
        match unit {
            MessageUnit::Text(between) => text.push_str(between),
            MessageUnit::Slot(slot) => {
                text.push_str(&slot.text);
                subjects.extend(slot.subjects.iter().cloned());
                class = slot.class;
                slots += 1;
            }
        }
    }
    text.push_str(&trail[..trail.len() - kept_trail.len()]);
    if slots > 1 || first != last || text.len() > slot_len(&parts[first]) {
        class = None;
    }
    out.push(MessageUnit::Text(kept_lead.to_owned()));
    out.push(MessageUnit::Slot(MaskedSlot { class, text, subjects }));
    out.push(MessageUnit::Text(kept_trail.to_owned()));
}

fn slot_len(unit: &MessageUnit) -> usize {
    if let MessageUnit::Slot(slot) = unit { slot.text.len() } else { 0 }
}

fn is_joint(c: char) -> bool {
    !c.is_alphanumeric() && c != '_'
}

/// What of the text that touches a slot stays text: a `key=` or `key:`, or punctuation; not the sign of an amount
/// (`<1`, `~5`, `#7`) or the mark of an argument (`*args`, `&mut`).
fn kept_lead<'a>(lead: &'a str, trail: &str) -> &'a str {
    if let Some(at) = lead.rfind(['=', ':']) {
        return &lead[..=at];
    }
    let kept = &lead[..lead.find(|c| !is_joint(c)).unwrap_or(lead.len())];
    if kept.len() < lead.len() || trail.starts_with('>') {
        return kept;
    }
    kept.trim_end_matches(['<', '>', '~', '≈', '≤', '≥', '±', '#', '$', '+', '-', '*', '&'])
}

/// `<*>, <*>, <*>` is one slot: a list has as many elements as it has today. So is `<*> (<*>)`.
fn collapse_lists(units: Vec<MessageUnit>) -> Vec<MessageUnit> {
    let mut out: Vec<MessageUnit> = Vec::new();
    let mut between = String::new();
    // Brackets that were opened between two slots of one: what closes them belongs to it too.
    let mut open = 0_usize;
    for unit in units {
        match unit {
            MessageUnit::Text(text) => {
                let closing = text.bytes().take_while(|b| b")]}".contains(b)).count().min(open);
                if between.is_empty()
                    && closing > 0
                    && let Some(MessageUnit::Slot(slot)) = out.last_mut()
                {
                    slot.text.push_str(&text[..closing]);
                    open -= closing;
                    between.push_str(&text[closing..]);
                } else {
                    between.push_str(&text);
                }
            }
            MessageUnit::Slot(next) => {
                let list = between.chars().all(|c| c.is_whitespace() || c.is_ascii_punctuation())
                    || matches!(out.last(), Some(MessageUnit::Slot(slot)) if is_joined(slot, &between, &next));
                match out.last_mut() {
                    Some(MessageUnit::Slot(slot)) if list => {
                        open += between.bytes().filter(|b| b"([{".contains(b)).count();
                        slot.text = format!("{}{between}{}", slot.text, next.text);
                        slot.subjects.extend(next.subjects);
                        if slot.class != next.class {
                            slot.class = None;
                        }
                    }
                    _ => {
                        open = 0;
                        out.push(MessageUnit::Text(std::mem::take(&mut between)));
                        out.push(MessageUnit::Slot(next));
                    }
                }
                between.clear();
            }
        }
    }
    out.push(MessageUnit::Text(between));
    out
}

/// `'x' and 'y'` is a list of two, and `"f" of "A"` a method: one name, as `"f"` is.
fn is_joined(before: &MaskedSlot, between: &str, after: &MaskedSlot) -> bool {
    let quoted = |slot: &MaskedSlot| slot.class == Some(SlotClass::Quoted);
    let between = between.trim_start_matches(',');
    quoted(before) && quoted(after) && [" and ", " or ", " of "].contains(&between)
}

/// `(<*>)` is `<*>`: a tuple today, one value tomorrow.
fn strip_brackets(mut units: Vec<MessageUnit>) -> Vec<MessageUnit> {
    for at in 1..units.len().saturating_sub(1) {
        let [before, MessageUnit::Slot(slot), after] = &mut units[at - 1..=at + 1] else { continue };
        let (MessageUnit::Text(before), MessageUnit::Text(after)) = (before, after) else { continue };
        for (open, close) in [('(', ')'), ('[', ']'), ('{', '}')] {
            if before.ends_with(open) && after.starts_with(close) {
                before.pop();
                after.remove(0);
                slot.text = format!("{open}{}{close}", slot.text);
            }
        }
    }
    units
}

/// Words of two letters or more that are no stop words.
fn count_content_words(units: &[MessageUnit]) -> usize {
    units
        .iter()
        .filter_map(|unit| if let MessageUnit::Text(text) = unit { Some(text) } else { None })
        .flat_map(|text| text.split(|c: char| !c.is_alphabetic()))
        .filter(|word| word.chars().count() >= 2 && !STOP_WORDS.contains(&word.to_lowercase().as_str()))
        .count()
}

/// One space between words, no punctuation at the end.
fn tidy_text(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.trim_end_matches(['.', ',', ';', ':', ' ']).to_owned()
}
