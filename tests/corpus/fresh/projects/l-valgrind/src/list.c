#include <stdlib.h>
#include <string.h>
char *dup2x(const char *s) {
  char *p = malloc(strlen(s));
  strcpy(p, s);
  return p;
}
