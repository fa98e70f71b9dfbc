package waiting

import (
	"strings"
	"testing"
)

func TestAJobThatWaitsIsFoundOnceUntilItHasRun(t *testing.T) {
	var watch Watch
	waits := func(job string, ran float64) Program {
		return Program{Job: job, State: "waiting", Why: "for memory", Ran: ran}
	}
	running := Program{Job: "a", State: "running", Ran: 2}
	for step, test := range []struct {
		programs []Program
		found    int
		resumed  string
	}{
		{[]Program{waits("a", 1), {Job: "b", State: "running"}}, 0, "b"},           // it may have its turn in a moment
		{[]Program{waits("a", 1), waits("a", 1)}, 1, ""},                           // two processes of one job
		{[]Program{{Job: "a", State: "queued", Why: "for others", Ran: 1}}, 0, ""}, // was told
		{[]Program{waits("a", 2)}, 0, "a"},                                         // had the GPU
		{[]Program{waits("a", 2), waits("b", 0)}, 1, ""},
		{[]Program{running, {Job: "b", State: "queued", Why: "for others"}}, 1, "a"},
		{[]Program{waits("a", 2)}, 0, "b"},                       // b has ended
		{[]Program{{Job: "a", State: "waiting", Ran: 2}}, 0, ""}, // for nothing that can be said
	} {
		found, resumed := watch.Observe(test.programs)
		if len(found) != test.found || strings.Join(resumed, " ") != test.resumed {
			t.Errorf("step %d: %v, %v", step, found, resumed)
		}
	}
}

func TestTheStatusOfTheDaemon(t *testing.T) {
	programs, err := Parse([]byte(`{"version":"1","clients":[{"pid":7,"job":"0a","state":"waiting","why":"x","ran_s":1.5}]}`))
	if err != nil || len(programs) != 1 || programs[0] != (Program{7, "0a", "waiting", "x", 1.5}) {
		t.Errorf("%v, %v", programs, err)
	}
	if _, err := Parse([]byte("no")); err == nil {
		t.Error("no JSON is accepted")
	}
}
