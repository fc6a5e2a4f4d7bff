mod geo;
fn main() {
    let v = vec![1, 2];
    if v.len() == 0 { return; }
    println!("{}", geo::area(&v));
}
