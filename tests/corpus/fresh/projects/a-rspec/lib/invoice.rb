class Invoice
  def initialize(lines) = @lines = lines
  def total = @lines.sum { |l| l[:price] * l[:qty] }
  def to_h = { total: total, lines: @lines, paid: false }
end
