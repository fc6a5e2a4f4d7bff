package pool

import (
	"reflect"
	"testing"
)

func TestTable(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []int
		want int
	}{{"one", []int{1}, 1}, {"two", []int{2, 3}, 3}} {
		t.Run(c.name, func(t *testing.T) {
			if got := (&Pool{c.in}).Get(); got != c.want {
				t.Errorf("Get() = %d, want %d", got, c.want)
			}
		})
	}
}

func TestEq(t *testing.T) {
	if !reflect.DeepEqual(map[string]int{"a": 1}, map[string]int{"a": 2}) {
		t.Fatal("maps differ")
	}
}

func TestEmpty(t *testing.T) { (&Pool{}).Get() }
