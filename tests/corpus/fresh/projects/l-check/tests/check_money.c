#include <check.h>
#include <stdlib.h>
#include "../src/money.h"
START_TEST(test_add) { ck_assert_int_eq(add(2, 2), 4); } END_TEST
START_TEST(test_none) { ck_assert_int_eq(*none(), 1); } END_TEST
START_TEST(test_ok) { ck_assert(1); } END_TEST
int main(void) { Suite *s = suite_create("Money"); TCase *t = tcase_create("Core"); tcase_add_test(t, test_add); tcase_add_test(t, test_none); tcase_add_test(t, test_ok); suite_add_tcase(s, t); SRunner *r = srunner_create(s); srunner_run_all(r, CK_NORMAL); int n = srunner_ntests_failed(r); srunner_free(r); return n ? 1 : 0; }
