//! Hands a finished run to the recorder.
//!
//! A failing run, and a pass that ends an open failure or is the first of the day, is one spool file, written whole;
//! other passes are a line in the pass log. [`FinishedRun::hand_over`] decides; the recorder starts from [`SpooledRun::parse`].

mod checked_state;
mod environment;
mod handover;
mod head;
mod identity;
mod passes;
mod reading;
mod session_model;
mod spool;

pub use checked_state::{CheckedState, InputDigests, InputHasher, ToolchainState};
pub use environment::{EnvironmentDigest, add_portable_variables, add_variables, counted_variables, remember};
pub use handover::{FinishedRun, RecorderWaiter, prepare_fallback};
pub use identity::{GATE_AGENT, identify};
pub use reading::SpoolError;
pub use session_model::{remember_session_model, session_models};
pub use spool::{Identity, ObservedVia, RepositoryHead, SPOOL_SCHEMA, SpoolHeader, SpooledRun, write as write_spool};
