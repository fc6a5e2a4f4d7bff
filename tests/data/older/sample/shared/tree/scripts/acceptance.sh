#!/bin/sh
echo "not ok 1 - order is shipped"
exit 1
