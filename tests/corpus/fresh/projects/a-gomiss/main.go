package main

import (
	"github.com/acme/nothere/log"
	"example.com/m/internal/gone"
)

func main() { log.Print(gone.X) }
