void f( int a ) {}
