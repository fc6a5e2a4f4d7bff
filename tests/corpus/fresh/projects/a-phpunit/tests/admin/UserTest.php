<?php
use PHPUnit\Framework\TestCase;
class UserTest extends TestCase { function testNone() {} function testX() { $this->expectException(RuntimeException::class); } }
