let () = print_endline (Shop.Cart.total [ 1; 2 ])
