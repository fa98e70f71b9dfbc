package deviceplugin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// device is the n-th share of a card.
type device struct {
	card string // UUID
	n    int64
}

const separator = "::"

func (d device) String() string { return d.card + separator + strconv.FormatInt(d.n, 10) }

func parseDevice(id string) (device, error) {
	card, number, found := strings.Cut(id, separator)
	n, err := strconv.ParseInt(number, 10, 64)
	if !found || err != nil || card == "" || n < 0 {
		return device{}, fmt.Errorf("%q is not the ID of a device: UUID%sNUMBER", id, separator)
	}
	return device{card, n}, nil
}

// prefer chooses `size` devices, `included` among them: from the card of which this container has the
// fewest, and among those the one with the most devices available; then by ID.
func prefer(available, included []string, size int) ([]string, error) {
	left := map[string][]string{} // by card, sorted
	taken := map[string]int{}
	for _, id := range slices.Sorted(slices.Values(available)) {
		device, err := parseDevice(id)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(included, id) {
			left[device.card] = append(left[device.card], id)
		}
	}
	chosen := slices.Clone(included)
	for _, id := range included {
		device, err := parseDevice(id)
		if err != nil {
			return nil, err
		}
		taken[device.card]++
	}
	for len(chosen) < size {
		best := ""
		for card, ids := range left {
			if len(ids) > 0 && (best == "" || better(card, best, left, taken)) {
				best = card
			}
		}
		if best == "" {
			return nil, fmt.Errorf("%d devices are asked for, but only %d are available", size, len(chosen))
		}
		chosen = append(chosen, left[best][0])
		left[best] = left[best][1:]
		taken[best]++
	}
	return chosen, nil
}

func better(card, than string, left map[string][]string, taken map[string]int) bool {
	if taken[card] != taken[than] {
		return taken[card] < taken[than]
	}
	if len(left[card]) != len(left[than]) {
		return len(left[card]) > len(left[than])
	}
	return card < than
}
