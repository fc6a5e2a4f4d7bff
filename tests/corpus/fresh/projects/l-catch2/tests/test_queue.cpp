#include <catch2/catch.hpp>
#include "../src/queue.hpp"
TEST_CASE("fifo", "[queue]") {
  Queue q{{1, 2, 3}};
  CHECK(q.xs.size() == 3);
  SECTION("first in is first out") { REQUIRE(q.pop() == 1); }
}
TEST_CASE("pop of empty") {
  Queue q;
  REQUIRE(q.pop() == 0);
}
