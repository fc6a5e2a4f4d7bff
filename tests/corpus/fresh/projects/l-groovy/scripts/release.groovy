def v = new Version("1.2")
println v.next().bump()
