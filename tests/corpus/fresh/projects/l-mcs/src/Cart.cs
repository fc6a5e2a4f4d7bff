class Cart {
  public static string Name() { return "x" }
}
