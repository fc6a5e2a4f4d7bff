//! Closed sets as they are stored: one word for each value, in events, tables and JSON.

/// Gives the values of a closed set their words, in both directions.
macro_rules! words {
    ($set:ident { $($value:ident => $word:literal),+ $(,)? }) => {
        impl $set {
            /// The word in events, tables and JSON.
            pub(crate) fn as_str(self) -> &'static str {
                match self {
                    $($set::$value => $word),+
                }
            }

            /// The value with this word; `None` of a word that this version does not know.
            pub(crate) fn from_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some($set::$value),)+
                    _ => None,
                }
            }
        }

        impl $crate::event::ClosedSet for $set {
            const NAME: &'static str = stringify!($set);

            fn from_word(word: &str) -> Option<Self> {
                $set::from_word(word)
            }
        }

        impl std::fmt::Display for $set {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}
pub(in crate::event) use words;

/// A type whose values are all known to this version. A newer one may have written a word that is none of them.
pub(crate) trait ClosedSet: Sized {
    /// What the set is called in an error.
    const NAME: &'static str;

    /// The value with this word; `None` of a word that this version does not know.
    fn from_word(word: &str) -> Option<Self>;
}

#[cfg(test)]
mod tests {
    use crate::event::{
        AttemptOutcome, ClosedSet, DeliveryArm, EntryChangeKind, EntrySource, EntryUse, ErrorMatch, FixState,
        FlakeProof, MemoryType, PromotionChangeKind, PromotionState, RecipeKind, ReviewState, TaskOutcome, Technique,
    };

    #[track_caller]
    fn assert_round_trip<T: ClosedSet + PartialEq + std::fmt::Debug + ToString>(words: &str) {
        for word in words.split(' ') {
            let value = T::from_word(word).unwrap_or_else(|| panic!("{word} is no {}", T::NAME));
            assert_eq!(value.to_string(), word);
        }
        assert_eq!(T::from_word("of a newer version"), None);
    }

    #[test]
    fn a_stored_word_is_the_value_that_was_written() {
        assert_round_trip::<AttemptOutcome>("success partial failure");
        assert_round_trip::<DeliveryArm>("shown holdout");
        assert_round_trip::<EntryChangeKind>("superseded confidence_set pinned unpinned merged");
        assert_round_trip::<EntrySource>("human check agent");
        assert_round_trip::<EntryUse>("queried retrieved applied validated prevented did_not_help");
        assert_round_trip::<ErrorMatch>("substring regex pattern category tool");
        assert_round_trip::<FixState>("success weakened undone flaky partial failure");
        assert_round_trip::<FlakeProof>("proven suspected");
        assert_round_trip::<MemoryType>("context learning preference error_pattern success_pattern");
        assert_round_trip::<PromotionChangeKind>("proposed approved rejected rolled_back retirement_proposed");
        assert_round_trip::<PromotionState>("pending approved rejected rolled_back");
        assert_round_trip::<RecipeKind>("shape files command");
        assert_round_trip::<ReviewState>("muted unmuted deprecated restored");
        assert_round_trip::<TaskOutcome>("completed failed abandoned");
        assert_round_trip::<Technique>("shape files command said declared lesson");
    }
}
