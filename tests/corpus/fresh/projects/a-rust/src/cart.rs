#[derive(Debug, PartialEq)]
pub struct Line { pub sku: String, pub qty: u32 }
pub fn lines() -> Vec<Line> { vec![Line { sku: "a".into(), qty: 1 }] }
#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn lines_match() { assert_eq!(lines(), vec![Line { sku: "a".into(), qty: 2 }], "rows from fixture"); }
    #[test]
    #[should_panic(expected = "empty")]
    fn panics() { panic!("full"); }
    #[test]
    fn ok() {}
}
