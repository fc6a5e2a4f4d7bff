import std.stdio;
import util.text;
void main() {
    int n = shout("a");
    writeln(n, undefinedName);
}
