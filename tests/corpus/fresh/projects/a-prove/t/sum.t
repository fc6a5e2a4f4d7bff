use strict;
use warnings;
use Test::More tests => 5;
use lib "lib";
use Sum;
is(Sum::sum(1, 2), 3, "adds");
is(Sum::sum(), undef, "none is undef");
is_deeply([Sum::sum(1)], [1, 2], "list");
like("abc", qr/x/, "has x");
