if true then puts "x" end
def foo
  eval("1")
 end
