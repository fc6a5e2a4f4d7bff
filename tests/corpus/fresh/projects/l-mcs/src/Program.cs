using System;
class Program {
  static void Main() {
    int n = Cart.Name();
    Console.WritLine(n);
  }
}
