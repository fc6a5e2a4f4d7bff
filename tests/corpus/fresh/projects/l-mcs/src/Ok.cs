class Ok {}
