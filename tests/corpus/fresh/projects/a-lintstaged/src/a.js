var a = 1;
bar(a)
