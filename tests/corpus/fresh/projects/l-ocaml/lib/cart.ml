let total xs = List.fold_left ( + ) 0 xs
let unused_arg x = 1
