package ok

import "testing"

func TestOk(t *testing.T) {}
