package shop;
import org.slf4j.Logger;
public class Main {
  public static void main(String[] a) { Cart c = new Cart(); c.add(1); }
}
