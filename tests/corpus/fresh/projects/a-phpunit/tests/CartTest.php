<?php
use PHPUnit\Framework\TestCase;
use Shop\Cart;
class CartTest extends TestCase {
  function testAdd() { $c=new Cart; $c->add("a",1); $c->add("b",2);
    $this->assertSame(["a"=>1,"b"=>3], $c->lines()); }
  function testPay() { (new Cart)->pay(); }
  function testOk() { $this->assertTrue(true); }
  /** @dataProvider rows */
  function testRows($a,$b) { $this->assertEquals($b,$a*2); }
  static function rows() { return ["two"=>[1,2],"five"=>[2,5]]; }
}
