class A { #p = 1; }
