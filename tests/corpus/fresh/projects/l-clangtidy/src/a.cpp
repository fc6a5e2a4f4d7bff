#include <cstdio>
#include "b.h"
int main() {
  int *p = 0;
  char buf[4];
  if (buf == NULL) return 1;
  std::printf("%d", area(2, 3));
  return *p;
}
