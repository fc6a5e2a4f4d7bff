use core_x::{Id, Show};
mod pages;
fn main() {
    let s = String::from("a");
    let t = s;
    println!("{s} {t}");
    println!("{}", Id(1).show());
}
