#include "util.h"
int main(int argc, char **argv) {
  char *n = count("x");
  return prnt(n);
}
