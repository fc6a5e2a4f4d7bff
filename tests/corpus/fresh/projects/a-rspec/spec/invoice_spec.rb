require "invoice"
RSpec.describe Invoice do
  subject { described_class.new([{ price: 2, qty: 3 }]) }
  it("sums") { expect(subject.total).to eq 6 }
  it("shows") { expect(subject.to_h).to eq(total: 7, lines: [{ price: 2, qty: 3 }], paid: true) }
  it("pays") { expect { subject.pay! }.to change { subject.to_h[:paid] }.from(false).to(true) }
end
