package lib

import "sync"

type T struct{ mu sync.Mutex }

func Do() T {
	var t T
	return t
	t = T{}
	return t
}
