int main (string[] args) {
    var c = new Cart ();
    string t = c.total ();
    c.clear ();
    return 0;
}
