package main

import (
	"fmt"
	"example.com/vet/lib"
)

func main() {
	fmt.Printf("%d\n", "x")
	lib.Do()
}
