int list(void) { return 0; }
