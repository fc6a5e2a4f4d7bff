use core_x::Missing;
pub fn home() -> u8 { match Some(1u8) { Some(x) => x } }
