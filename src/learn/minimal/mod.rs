//! The smallest part of a change that still does its work.

mod reduce;
mod unit;

pub(crate) use reduce::{Reduction, ReductionAnswer, reduce_units, remove_single_units};
pub(crate) use unit::{
    ChangeUnit, FileContent, FileVersions, UNITS_MAX, UnitEdit, apply_units, cut_elsewhere, split_change,
};
