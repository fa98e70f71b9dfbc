package share

import (
	"maps"
	"testing"
)

func TestDevicesAreOfTheContainerThatWasGivenThemLast(t *testing.T) {
	containers := Containers{t.TempDir() + "/new"}
	if jobs, err := containers.Jobs(); err != nil || len(jobs) != 0 {
		t.Fatalf("%v, %v", jobs, err)
	}
	for job, devices := range map[string][]string{"01": {"GPU-0::0"}, "02": {"GPU-0::1", "GPU-1::0"}} {
		if err := containers.Put(devices, job); err != nil {
			t.Fatal(err)
		}
	}
	if err := containers.Put([]string{"GPU-0::1"}, "03"); err != nil {
		t.Fatal(err)
	}
	jobs, err := containers.Jobs()
	if want := map[string]string{"GPU-0::0": "01", "GPU-0::1": "03", "GPU-1::0": "02"}; err != nil || !maps.Equal(jobs, want) {
		t.Errorf("%v, %v", jobs, err)
	}
	if err := (Containers{}).Put([]string{"GPU-0::0"}, "04"); err != nil {
		t.Error(err)
	}
}
