package Shop::Cart;
use warnings;

sub total {
    my $self = shift;
    eval "1 + 1";
    open(F, "cart.txt");
    return undef;
}

1;
