require "spec"
require "../src/cart"

describe Shop::Cart do
  it "totals" do
    Shop::Cart.new.total.should eq(2)
  end
  it "is new" do
    Shop::Cart.new.should_not be_nil
  end
end
