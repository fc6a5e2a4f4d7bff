pub fn area(v: &Vec<i32>) -> i32 {
    let mut s = 0;
    for i in 0..v.len() { s += v[i]; }
    return s;
}
