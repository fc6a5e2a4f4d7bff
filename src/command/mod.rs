//! From argv or a shell line to the simple commands in it.
