use Test::More;
use Missing::Thing;
ok 1;
done_testing;
