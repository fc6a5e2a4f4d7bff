//! A change reverted where the text still has it as it was written, whatever else was edited.

use super::WrittenDocument;

/// `current` with what `written.after` has in place of `written.before` put back; `None` where it isn't there any more as
/// it was written, or more than once.
pub fn take_out(written: WrittenDocument<'_>, current: &str) -> Option<String> {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (written.before.split_inclusive('\n').collect(), written.after.split_inclusive('\n').collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = (old.len() - head).min(new.len() - head);
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let (gone, came) = (old[head..old.len() - tail].concat(), new[head..new.len() - tail].concat());
    if came.is_empty() {
        return None;
    }
    let is_whole_lines = |at: usize| {
        let behind = &current[at + came.len()..];
        let starts = at == 0 || current[..at].ends_with('\n');
        starts && (came.ends_with('\n') || behind.is_empty() || behind.starts_with(['\r', '\n']))
    };
    let mut places = current.match_indices(&came).map(|(at, _)| at).filter(|at| is_whole_lines(*at));
    let place = places.next().filter(|_| places.next().is_none())?;
    let behind = &current[place + came.len()..];
    // What a user wrote after what was the last line stays a line of its own.
    let joins = !gone.is_empty() && !gone.ends_with('\n') && came.ends_with('\n') && !behind.is_empty();
    let end = if joins { super::line::end_of(current) } else { "" };
    Some(format!("{}{gone}{end}{behind}", &current[..place]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(before: &str, after: &str, current: &str) -> Option<String> {
        take_out(WrittenDocument { before, after }, current)
    }

    #[test]
    fn edits_around_what_was_added_stay() {
        let (before, after) = ("a\nb\n", "a\nours\nb\n");
        assert_eq!(out(before, after, after).as_deref(), Some(before));
        assert_eq!(out(before, after, "x\na\nours\nb\ny").as_deref(), Some("x\na\nb\ny"));
        assert_eq!(out(before, after, "ours\n").as_deref(), Some(""));
    }

    #[test]
    fn what_was_changed_or_stands_twice_is_not_guessed_at() {
        let (before, after) = ("a\nb\n", "a\nours\nb\n");
        assert_eq!(out(before, after, "a\nmine\nb\n"), None);
        assert_eq!(out(before, after, "a\nours\nours\nb\n"), None);
        assert_eq!(out(before, after, "a\nyours\nb\n"), None, "half a line is another line");
        assert_eq!(out(before, before, before), None, "nothing was added");
    }

    #[test]
    fn a_last_line_without_an_end_gets_its_bytes_back() {
        assert_eq!(out("a", "a\nours\n", "a\nours\n").as_deref(), Some("a"));
        assert_eq!(out("a", "a\nours\n", "a\nours\nb\n").as_deref(), Some("a\nb\n"));
        assert_eq!(out("", "ours\n", "ours\nmine\n").as_deref(), Some("mine\n"));
    }
}
