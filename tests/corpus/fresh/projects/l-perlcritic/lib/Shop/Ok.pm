package Shop::Ok;
use strict;
use warnings;

1;
