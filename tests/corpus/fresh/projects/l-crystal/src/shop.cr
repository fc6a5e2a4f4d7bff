require "./cart"

cart = Shop::Cart.new
puts cart.totl
