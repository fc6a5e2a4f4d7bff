//! Keeps two systems of shims from calling each other forever.
//!
//! A version manager that is to use the system's program searches PATH past its own folder and finds our shim, and we
//! would find the manager's again. No variable may be added to what a program is given, and who executes another one
//! stays the same process; so what a process was handed to is noted in a small file beside the shims, in a slot by
//! its id that later ones overwrite. That is done only where a round is possible: for a program that is itself a
//! shim, for a call by a path (the caller has searched), and in a process that has been working before it came here.
//!
//! A program that isn't another shim may execute itself as often as it likes; it is passed over only after a number of
//! quick calls, and nothing is passed over in favour of nothing before that.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use nix::libc;
use nix::time::{ClockId, clock_gettime};

use super::process::{Process, STAT_BYTES};
use super::shim::Shim;
use super::sys;

/// The file, in the folder of shims; made when it is needed. Where that can't be written, one in the folder for
/// temporary files.
pub const ROUNDS: &str = ".rounds";

const SLOTS: u64 = 256;
const SLOT_BYTES: usize = 64;
/// Programs that are remembered of one process.
const SEEN_MAX: usize = 5;
/// Calls in one process that are no round yet where it need not be one,
const PASSES_MAX: u32 = 8;
/// each within this many milliseconds of the one before.
const PASS_MS_MAX: u64 = 2_000;
/// Without `/proc` a process is known by its id alone, for this many milliseconds.
const SAME_ID_MS_MAX: u64 = 10_000;
/// Processes in a row, each one's child called by a path and handed to the same program, that are a round: for another
/// shim, for any program, and where there is nothing else.
const PARENTS_MAX: [usize; 3] = [3, 8, 16];
/// Processor time of a process that was something else before, milliseconds. A new one has used one or two.
const WORKED_MS_MIN: u64 = 50;
/// Processor time that a round may cost where nothing can be noted, milliseconds.
const WORKED_MS_MAX: u64 = 5_000;

/// What is known of one process: 64 bytes, in the machine's own order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ProcessSlot {
    pid: u32,
    /// How often it was handed on.
    passes: u32,
    /// When it was started, in ticks; 0 if unknown.
    started: u64,
    /// When it was handed on last, milliseconds of the monotonic clock.
    at: u64,
    /// What it was handed to.
    seen: [u64; SEEN_MAX],
}

/// A program that could be executed in place of a shim.
pub(super) struct LoopCandidate<'c> {
    pub shim: &'c Shim,
    /// The folder of the shim.
    pub folder: &'c [u8],
    /// The folder of the program, as it is in PATH.
    pub place: &'c [u8],
    pub file: &'c CStr,
    pub found: libc::stat,
}

impl LoopCandidate<'_> {
    /// Whether handing the call to it would go round. If not, it is noted that it was handed to it.
    pub(super) fn round(&self) -> Option<PassedProgram> {
        self.goes_round().then(|| PassedProgram { folder: self.folder.to_owned(), key: self.key() })
    }

    fn goes_round(&self) -> bool {
        let is_shim = is_other_shim(self.shim.name(), self.place, self.file);
        let worked = || now(ClockId::CLOCK_PROCESS_CPUTIME_ID);
        if !is_shim && !self.shim.by_path() && worked() < WORKED_MS_MIN {
            return false;
        }
        let Some(rounds) = Rounds::open(self.folder) else { return is_shim && self.shim.by_path() };
        let (key, own, now) = (self.key(), rounds.of(sys::own_id()), now(ClockId::CLOCK_MONOTONIC));
        let is_seen = own.seen.contains(&key);
        let round = if self.shim.by_path() {
            let parents = PARENTS_MAX[usize::from(!is_shim)];
            is_seen && (is_shim && own.is_same(now) || own.is_quick(now)) || rounds.parents(key, parents) == parents
        } else {
            is_seen && own.is_quick(now)
        };
        if !round {
            rounds.note(own.with(key, now));
        }
        round
    }

    /// Names a program that is called in place of another.
    fn key(&self) -> u64 {
        let file = self.found.st_dev.to_ne_bytes().into_iter().chain(self.found.st_ino.to_ne_bytes());
        let bytes = self.shim.name().as_bytes().iter().copied().chain(file);
        // FNV-1a; never 0, which is an empty place.
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)) | 1
    }
}

/// Whether a program is another program's shim: in a folder that is called so, or a link to a file that has another
/// name (`node` -> `volta-shim`, not `python3` -> `python3.12` or `npm` -> `npm-cli.js`).
fn is_other_shim(name: &OsStr, place: &[u8], file: &CStr) -> bool {
    let place = place.strip_suffix(b"/").unwrap_or(place);
    if place == b"shims" || place.ends_with(b"/shims") {
        return true;
    }
    let target = std::fs::read_link(OsStr::from_bytes(file.to_bytes()));
    target.is_ok_and(|target| target.file_name().is_some_and(|target| !target.as_bytes().starts_with(name.as_bytes())))
}

/// A program that was passed over, because it would hand the call back.
#[derive(Debug)]
pub struct PassedProgram {
    folder: Vec<u8>,
    key: u64,
}

impl PassedProgram {
    /// Whether the call may be handed to it all the same, since there is no other program of the name. That is noted.
    pub fn may_go_on(&self) -> bool {
        let Some(rounds) = Rounds::open(&self.folder) else {
            return now(ClockId::CLOCK_PROCESS_CPUTIME_ID) < WORKED_MS_MAX;
        };
        let (own, now) = (rounds.of(sys::own_id()), now(ClockId::CLOCK_MONOTONIC));
        let [.., parents] = PARENTS_MAX;
        let may = !own.is_quick(now) && rounds.parents(self.key, parents) < parents;
        if may {
            rounds.note(own.with(self.key, now));
        }
        may
    }
}

fn now(clock: ClockId) -> u64 {
    let time = clock_gettime(clock).ok();
    let milliseconds = time.map(|time| time.tv_sec() * 1000 + time.tv_nsec() / 1_000_000);
    milliseconds.and_then(|milliseconds| u64::try_from(milliseconds).ok()).unwrap_or(0)
}

struct Rounds {
    file: OwnedFd,
}

impl Rounds {
    fn open(folder: &[u8]) -> Option<Self> {
        let open = |folder: &[u8], name: &str| {
            let path = CString::new([folder, b"/", name.as_bytes()].concat()).ok()?;
            sys::open_own(&path).ok()
        };
        let temporary = || {
            let folder = std::env::var_os("TMPDIR").filter(|dir| dir.as_bytes().starts_with(b"/"));
            let folder = folder.unwrap_or_else(|| "/tmp".into());
            open(folder.as_bytes(), &format!(".verify-run{ROUNDS}-{}", nix::unistd::geteuid()))
        };
        open(folder, ROUNDS).or_else(temporary).map(|file| Rounds { file })
    }

    /// What is known of the process, with its id and start; empty if the slot is another one's.
    fn of(&self, pid: libc::pid_t) -> ProcessSlot {
        let mut buffer = [0; STAT_BYTES];
        let started = Process::look(pid, &mut buffer).map_or(0, |process| process.started);
        let pid = pid.unsigned_abs();
        let slot = self.read(pid);
        if (slot.pid, slot.started) == (pid, started) {
            slot
        } else {
            ProcessSlot { pid, started, ..ProcessSlot::default() }
        }
    }

    /// How many processes in a row above this one were handed to the same program; counted up to `max`.
    fn parents(&self, key: u64, max: usize) -> usize {
        let mut pid = sys::parent_id();
        for count in 0..max {
            let mut buffer = [0; STAT_BYTES];
            let parent = Process::look(pid, &mut buffer).map(|process| process.parent);
            match parent {
                Some(parent) if self.of(pid).seen.contains(&key) => pid = parent,
                _ => return count,
            }
        }
        max
    }

    fn read(&self, pid: u32) -> ProcessSlot {
        let mut bytes = [0; SLOT_BYTES];
        match sys::read_at(self.file.as_raw_fd(), &mut bytes, offset(pid)) {
            Ok(SLOT_BYTES) => ProcessSlot::from_bytes(&bytes),
            _ => ProcessSlot::default(),
        }
    }

    /// If it can't be noted (a full disk), a round takes longer or isn't found out.
    fn note(&self, slot: ProcessSlot) {
        let _ = sys::write_at(self.file.as_raw_fd(), &slot.to_bytes(), offset(slot.pid));
    }
}

fn offset(pid: u32) -> u64 {
    u64::from(pid) % SLOTS * SLOT_BYTES as u64
}

impl ProcessSlot {
    /// Whether the process has come here again and again without doing anything else for long.
    fn is_quick(&self, now: u64) -> bool {
        self.passes >= PASSES_MAX && now.saturating_sub(self.at) < PASS_MS_MAX
    }

    /// Whether it is the same process for sure, and not a later one of its id.
    fn is_same(&self, now: u64) -> bool {
        self.started != 0 || now.saturating_sub(self.at) < SAME_ID_MS_MAX
    }

    /// With one more program that it was handed to.
    fn with(mut self, key: u64, now: u64) -> Self {
        let is_quick = now.saturating_sub(self.at) < PASS_MS_MAX;
        self.passes = if is_quick { self.passes.saturating_add(1) } else { 1 };
        self.at = now;
        if !self.seen.contains(&key) {
            let free = self.seen.iter().position(|seen| *seen == 0);
            self.seen[free.unwrap_or(self.passes as usize % SEEN_MAX)] = key;
        }
        self
    }

    fn from_bytes(bytes: &[u8; SLOT_BYTES]) -> Self {
        let mut words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
        let mut word = || words.next().unwrap_or(0);
        let first = word();
        ProcessSlot {
            pid: first as u32,
            passes: (first >> 32) as u32,
            started: word(),
            at: word(),
            seen: std::array::from_fn(|_| word()),
        }
    }

    fn to_bytes(self) -> [u8; SLOT_BYTES] {
        let mut bytes = [0; SLOT_BYTES];
        let first = u64::from(self.pid) | u64::from(self.passes) << 32;
        let words = [first, self.started, self.at].into_iter().chain(self.seen);
        for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_ne_bytes();
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_read_as_it_was_written() {
        let slot = ProcessSlot { pid: 7, passes: u32::MAX, started: 1, at: u64::MAX, seen: [1, 2, 3, 4, 5] };
        assert_eq!(ProcessSlot::from_bytes(&slot.to_bytes()), slot);
        assert_eq!(ProcessSlot::from_bytes(&[0; SLOT_BYTES]), ProcessSlot::default());
    }

    #[test]
    fn more_programs_than_there_is_room_for_overwrite_each_other() {
        let slot = (1..=9).fold(ProcessSlot::default(), |slot, key| slot.with(key, 10));
        assert_eq!(slot.passes, 9);
        assert!(slot.seen.contains(&9) && !slot.seen.contains(&0));
        // After a pause it is no round any more.
        assert_eq!(slot.with(9, 10 + PASS_MS_MAX).passes, 1);
    }

    #[test]
    fn links_to_another_name_and_folders_of_shims_are_other_shims() {
        let folder = tempfile::tempdir().expect("a folder");
        let link = |name: &str, target: &str| {
            let path = folder.path().join(name);
            std::os::unix::fs::symlink(target, &path).expect("a link");
            let file = CString::new(path.as_os_str().as_bytes()).expect("a path");
            is_other_shim(OsStr::new(name), folder.path().as_os_str().as_bytes(), &file)
        };
        assert!(link("node", "volta-shim") && link("cargo", "/opt/bin/rustup"));
        assert!(!link("npm", "../lib/npm-cli.js") && !link("python3", "python3.12"));
        let plain = |place: &str| is_other_shim(OsStr::new("npm"), place.as_bytes(), c"/nowhere/npm");
        assert!(plain("/home/u/.pyenv/shims") && plain("shims/") && !plain("/usr/bin"));
    }
}
