-module(cart).
-export([total/1, drop/2]).

total(Xs) -> lists:sum(Ys).

add(A, B) -> A + B.
