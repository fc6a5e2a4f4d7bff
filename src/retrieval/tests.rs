//! Tests over several parts of the stage.

mod replay;
