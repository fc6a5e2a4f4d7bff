module util.text;
string shout(string s) { return s ~ "!"; }
