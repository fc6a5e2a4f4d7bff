#!/bin/sh
set -e
for f in migrations/*.sql; do echo "applying $f"; sqlite3 -bail app.db < "$f"; done
