require_relative "../lib/tpl"
puts Tpl.render(File.read("templates/a.erb"))
