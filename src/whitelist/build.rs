//! Compiles the shipped whitelist into the binary.

fn main() {}
