class web::hosts($a, $b = undef) {
  notify { "x": }   
}
