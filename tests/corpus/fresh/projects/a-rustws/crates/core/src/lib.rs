pub struct Id(u32);
pub trait Show { fn show(&self) -> String; }
