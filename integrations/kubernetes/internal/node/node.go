// Package node prepares shares of a node's cards: what the DRA driver and the device plugin have in
// common.
package node

import (
	"context"
	"fmt"
	"strings"

	"reveza.io/kubernetes/internal/cards"
	"reveza.io/kubernetes/internal/share"
)

// Daemon is what schedules the cards.
type Daemon interface {
	Check(ctx context.Context) error
	Status(ctx context.Context) ([]byte, error)
}

// Node is immutable, but for the files of its store.
type Node struct {
	Name    string
	Cards   []cards.Card
	Host    int64 // bytes of host memory that hold what is swapped out, of all cards
	Classes share.Classes
	Files   share.Files
	Store   share.Store
	Daemon  Daemon
	Given   share.Containers // by the device plugin
}

// DeviceName returns the name of a card in a ResourceSlice.
func DeviceName(card cards.Card) string {
	name := strings.ToLower(card.UUID)
	if strings.HasPrefix(name, "gpu-") || strings.HasPrefix(name, "mig-") {
		return name
	}
	return "gpu-" + name
}

// CardOf returns the card with a name of a ResourceSlice.
func (n Node) CardOf(device string) (cards.Card, error) {
	for _, card := range n.Cards {
		if DeviceName(card) == device {
			return card, nil
		}
	}
	return cards.Card{}, fmt.Errorf("node %s has no card %q", n.Name, device)
}

// Capacity returns the bytes of a card that can be given out: as much as fits on it together, or as much as takes
// turns. For the latter the host must have room for all of it: who comes in is copied while others are still out
// (docs/scheduling.md, "rotation").
func (n Node) Capacity(card cards.Card) int64 {
	return max(card.Total, n.Host/int64(len(n.Cards)))
}

// Prepare makes what a container needs to use a share, once: a share that was prepared stays as it is,
// whatever the plugin's version and settings are now.
func (n Node) Prepare(ctx context.Context, wanted share.Share) (share.Share, error) {
	prepared, err := n.Store.Get(wanted.ID)
	if err != nil {
		return share.Share{}, err
	}
	if prepared != nil {
		// After a reboot kubelet asks again, and the folder of specifications is empty.
		return *prepared, n.Store.Put(*prepared)
	}
	if err := n.Daemon.Check(ctx); err != nil {
		return share.Share{}, err
	}
	wanted.Files = n.Files
	return wanted, n.Store.Put(wanted)
}
