:- use_module("../src/lists2").
:- use_module(library(plunit)).
:- begin_tests(lists2).
test(last, [true(X == 3), nondet]) :- last2([1,2,3], X).
test(sum, [true(S == 6)]) :- sum2([1,2,3], S).
test(missing) :- lists2:nope(1).
:- end_tests(lists2).
