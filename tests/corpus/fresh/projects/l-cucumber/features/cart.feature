Feature: Cart
  Scenario: add one
    Given an empty cart
    When I add "apple"
    Then the cart has 2 items

  Scenario: pay
    Given an empty cart
    When I pay with a voucher
    Then it is paid

  Scenario: new
    Given an empty cart
