proc total*(xs: seq[int]): int =
  for x in xs: result += x
