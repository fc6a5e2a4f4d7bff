Feature: Login
  Scenario: bad
    Given an empty cart
    Then the cart has 0 items
