Given(/^an empty cart$/) { @cart = [] }
When(/^I add "([^"]*)"$/) { |s| @cart << s }
Then(/^the cart has (\d+) items$/) { |m| n = m.to_i; raise "expected #{n} items, got #{@cart.size}" unless @cart.size == n }
