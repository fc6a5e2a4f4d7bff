template <typename T> T add(T a, T b) { return a + b; }
int f() { return add(1, 2.5); }
