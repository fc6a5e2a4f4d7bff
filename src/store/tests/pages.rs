//! Steps of pages of the library.

use super::{folder, open};
use crate::event::sample::library_step;

#[test]
fn the_newest_step_of_a_page_is_read_however_many_there_are() {
    const STEPS: u64 = 2_500;
    let dir = folder();
    let mut store = open(dir.path());
    store.append(&(0..STEPS).map(library_step).collect::<Vec<_>>()).expect("appends");
    let steps = store.index().library_steps().expect("reads");
    let times: Vec<i64> = steps.iter().map(|step| step.at.0 / 1_000_000).collect();
    assert_eq!(times, (0..STEPS.cast_signed()).collect::<Vec<_>>());
    assert!(steps.iter().all(|step| step.is_own));
}
