package node

import (
	"testing"

	"reveza.io/kubernetes/internal/cards"
)

// What is given out fits on the card together, or the host has room for all of it.
func TestCapacityIsWhatCanTakeTurns(t *testing.T) {
	for _, test := range []struct {
		cards             int
		total, host, want int64
	}{{1, 24, 0, 24}, {1, 24, 16, 24}, {1, 24, 88, 88}, {2, 24, 88, 44}} {
		node := Node{Host: test.host, Cards: make([]cards.Card, test.cards)}
		if have := node.Capacity(cards.Card{Total: test.total}); have != test.want {
			t.Errorf("%+v: %d", test, have)
		}
	}
}
