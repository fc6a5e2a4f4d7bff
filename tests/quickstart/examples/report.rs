//! Prints a temperature; does not compile.

fn main() {
    let reading: f64 = "98.6";
    println!("{:.1} °C", thermometer::celsius(reading));
}
