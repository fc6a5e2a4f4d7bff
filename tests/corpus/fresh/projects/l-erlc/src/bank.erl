-module(bank).
-export([open/1]).
open(N) ->
    case N of
        0 -> ok
        1 -> err
    end.
