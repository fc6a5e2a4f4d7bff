module Tpl
  def self.render(s)
    s.gsub("x", nil)
  end
end
