:- module(lists2, [last2/2, sum2/2]).
last2([X], X).
last2([_|T], X) :- last2(T, X).
sum2([], 0).
sum2([H|T], S) :- sum2(T, S0), S is S0 + H + 1.
