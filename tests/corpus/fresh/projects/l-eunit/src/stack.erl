-module(stack).
-export([push/2, pop/1]).
push(X, S) -> [X | S].
pop([]) -> error(empty);
pop([_ | T]) -> T.
