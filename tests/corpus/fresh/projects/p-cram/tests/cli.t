Help:

  $ $TESTDIR/../tool --help
  usage: tool [-v] FILE

Version:

  $ $TESTDIR/../tool --version
  tool 1.3.0
