package shop;
import java.util.*;
public class Cart implements Comparable<Cart> {
  private List xs = new ArrayList();
  void add(String s) { xs.add(s); }
}
