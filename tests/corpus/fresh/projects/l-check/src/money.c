#include "money.h"
int add(int a, int b) { return a - b; }
int *none(void) { return 0; }
