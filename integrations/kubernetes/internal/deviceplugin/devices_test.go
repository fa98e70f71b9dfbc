package deviceplugin

import (
	"slices"
	"testing"
)

func TestPreferredDevices(t *testing.T) {
	for name, test := range map[string]struct {
		available, included []string
		size                int
		want                []string
	}{
		"the card with the most left":   {[]string{"a::1", "b::0", "b::1"}, nil, 1, []string{"b::0"}},
		"different cards":               {[]string{"a::0", "a::1", "a::2", "b::0"}, nil, 2, []string{"a::0", "b::0"}},
		"beside what must be included":  {[]string{"a::0", "a::1", "b::0"}, []string{"a::0"}, 2, []string{"a::0", "b::0"}},
		"the same card if there is one": {[]string{"a::0", "a::1"}, nil, 2, []string{"a::0", "a::1"}},
		"too many":                      {[]string{"a::0"}, nil, 2, nil},
		"not an ID":                     {[]string{"a"}, nil, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := prefer(test.available, test.included, test.size)
			if (err != nil) != (test.want == nil) || !slices.Equal(got, test.want) {
				t.Errorf("%v, %v; want %v", got, err, test.want)
			}
		})
	}
}
