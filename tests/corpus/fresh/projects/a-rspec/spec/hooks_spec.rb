RSpec.describe "hooks" do
  before(:all) { raise ArgumentError, "seed missing" }
  it("a") {}
  it("b") {}
end
