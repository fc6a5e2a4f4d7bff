#[test]
fn parses() -> Result<(), String> { if shop::parse("4") == 4 { Err("boom: not allowed".into()) } else { Ok(()) } }
#[test]
fn unwraps() { shop::parse("x"); }
