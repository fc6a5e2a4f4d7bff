#!/usr/bin/perl
$x = 1;
print $x;
