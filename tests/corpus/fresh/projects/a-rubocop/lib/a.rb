class A
  def x()
    y = 1
    return "a"
  end
end
