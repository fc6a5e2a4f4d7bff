-module(stack_tests).
-include_lib("eunit/include/eunit.hrl").

push_test() -> ?assertEqual([1], stack:push(1, [])).
pop_test() -> ?assertEqual([2], stack:pop([1, 3])).
empty_test() -> ?assertEqual([], stack:pop([])).
