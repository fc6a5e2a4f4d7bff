#include <cppunit/extensions/HelperMacros.h>
#include <cppunit/ui/text/TestRunner.h>
#include <stdexcept>
int total(int a, int b);
class CartTest : public CppUnit::TestFixture { CPPUNIT_TEST_SUITE(CartTest); CPPUNIT_TEST(testTotal); CPPUNIT_TEST(testEmpty); CPPUNIT_TEST(testOk); CPPUNIT_TEST_SUITE_END();
public:
  void testTotal() { CPPUNIT_ASSERT_EQUAL(5, total(2, 3)); }
  void testEmpty() { throw std::runtime_error("cart is locked"); }
  void testOk() { CPPUNIT_ASSERT(true); }
};
CPPUNIT_TEST_SUITE_REGISTRATION(CartTest);
int main() { CppUnit::TextUi::TestRunner r; r.addTest(CppUnit::TestFactoryRegistry::getRegistry().makeTest()); return r.run() ? 0 : 1; }
