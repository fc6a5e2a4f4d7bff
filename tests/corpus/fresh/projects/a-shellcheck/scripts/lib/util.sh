#!/bin/sh
local x=1
function f() { echo $[1+1]; }
