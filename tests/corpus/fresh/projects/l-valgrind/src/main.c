#include <stdio.h>
char *dup2x(const char *);
int main(void) { char *a = dup2x("hello"); printf("%s\n", a); return 0; }
