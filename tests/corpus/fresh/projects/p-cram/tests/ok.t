  $ echo hi
  hi
