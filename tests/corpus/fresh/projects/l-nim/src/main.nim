import cart, strutils
echo total(@[1, 2]) & " EUR"
