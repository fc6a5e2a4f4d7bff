#!/bin/sh
. ./lib.sh
test_greet() { assertEquals "hi bob" "$(greet bob)"; }
test_add() { assertEquals "adds two numbers" 3 "$(add 1 2)"; }
test_false() { assertTrue "file exists" "[ -f /no/such ]"; }
. /usr/share/shunit2/shunit2
