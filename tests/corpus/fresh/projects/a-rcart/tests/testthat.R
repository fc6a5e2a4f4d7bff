library(testthat)
library(cart)
test_check("cart")
