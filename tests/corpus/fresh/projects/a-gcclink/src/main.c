int run(void);
int debug = 1;
int main(void) { return run(); }
