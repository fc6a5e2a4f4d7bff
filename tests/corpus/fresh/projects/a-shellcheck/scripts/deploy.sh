#!/bin/bash
set -e
for f in $(ls *.txt); do
  rm $f
done
cd $1
if [ $x == "a" ]; then echo ok; fi
