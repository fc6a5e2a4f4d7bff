#include "util.h"
#include <openssl_x/ssl.h>
int count(const char *s) { return s[0]; }
