import tpl
print(tpl.render())
