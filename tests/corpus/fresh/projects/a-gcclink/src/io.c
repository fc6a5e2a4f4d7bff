int debug = 0;
extern int closef(int);
int run(void) { return closef(debug); }
