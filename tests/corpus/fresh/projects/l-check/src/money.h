int add(int a, int b);
int *none(void);
