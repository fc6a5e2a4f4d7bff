struct Core { int run(); };
