  $ $TESTDIR/../../tool nofile
  no such file: nofile
  [2]
