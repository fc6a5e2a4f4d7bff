//! Where things are, and what the user set.

mod places;

pub use places::{Environment, Places, Repository};
