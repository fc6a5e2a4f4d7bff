#!/bin/sh
rc=0
for f in $(find src -name "*.php" | sort); do php -l "$f" || rc=1; done
exit $rc
