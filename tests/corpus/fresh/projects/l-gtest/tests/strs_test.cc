#include <gtest/gtest.h>
#include "../src/strs.hpp"
TEST(Strs, Up) { EXPECT_EQ(up("a"), "A"); }
TEST(Strs, Title) { EXPECT_EQ(up("ab cd"), "Ab Cd") << "title case"; }
class Db : public ::testing::TestWithParam<int> {};
TEST_P(Db, Rows) { ASSERT_LT(GetParam(), 2); }
INSTANTIATE_TEST_SUITE_P(All, Db, ::testing::Values(1, 2));
