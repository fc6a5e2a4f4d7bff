#include <catch2/catch.hpp>
TEST_CASE("ok") { CHECK(1 == 1); }
