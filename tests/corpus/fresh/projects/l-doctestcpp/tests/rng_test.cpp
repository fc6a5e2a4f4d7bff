#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include "../src/rng.hpp"
TEST_SUITE("rng") {
TEST_CASE("size") { CHECK(rng(4).size() == 4); }
TEST_CASE("start") { SUBCASE("zero") { REQUIRE_MESSAGE(rng(2).at(0) == 0, "ranges start at 0"); } }
TEST_CASE("throws") { CHECK_THROWS(rng(0)); }
}
TEST_CASE("fine") { CHECK(true); }
