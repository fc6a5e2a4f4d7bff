int count(const char *s);
