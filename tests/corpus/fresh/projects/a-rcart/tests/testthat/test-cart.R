test_that("totals are sums", {
  expect_equal(total(c(1, 2)), 3)
  expect_equal(total(c(1, 2), vat = 0.2), 3.5)
})
test_that("discounts are checked", {
  expect_error(total(1), "too much")
  expect_identical(cart:::discount(5), 4)
})
test_that("names are kept", {
  expect_named(c(a = 1, b = 2), c("a", "c"))
})
