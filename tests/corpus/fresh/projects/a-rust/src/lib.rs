pub mod cart;

pub fn parse(s: &str) -> i32 { s.parse().unwrap() }
