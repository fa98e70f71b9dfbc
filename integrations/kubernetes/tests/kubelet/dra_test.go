package kubelet_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"reveza.io/kubernetes/internal/share"
	"reveza.io/kubernetes/tests/support"
)

func TestAClaimBecomesAJobWithItsPolicy(t *testing.T) {
	a := pod("a", "train")
	node := support.NewNode(t, 1)
	node.Options.Group = 10787
	kubelet := startDRA(t, node, a,
		claim("train", "22Gi", policy(`"weight":2,"priority":"low","interactive":true,"request":"4Gi"`), "a"))
	mustPrepare(t, kubelet, a)
	// What a pod sets itself does not count, but for other variables.
	values := kubelet.environment(t, a, "REVEZA_JOB=1", "REVEZA_POLICY=weight=10000", "HOME=/root")
	want := map[string]string{"LD_PRELOAD": share.LibraryInContainer, "REVEZA_SOCKET": kubelet.node.Options.Socket,
		"REVEZA_JOB": share.Job("claim-train"), "REVEZA_NAME": "default/train", "HOME": "/root",
		"REVEZA_POLICY":         "weight=200,priority=0,interactive=1,request=4294967296,limit=23622320128",
		"REVEZA_REQUIRE_DAEMON": "1"}
	for name, value := range want {
		if values[name] != value {
			t.Errorf("%s=%q, want %q", name, values[name], value)
		}
	}
	if groups := kubelet.container(t, a, nil).Process.User.AdditionalGids; !slices.Contains(groups, 10787) {
		t.Errorf("groups: %v", groups)
	}
	info, err := kubelet.GetResources(a, &a.Spec.Containers[0])
	if err != nil {
		t.Fatal(err)
	}
	if names := []string{info.CDIDevices[0].Name, info.CDIDevices[1].Name}; !slices.Contains(names,
		"nvidia.com/gpu="+support.UUID(0)) || len(info.CDIDevices) != 2 {
		t.Errorf("CDI devices: %v", names)
	}
}

func TestPodsThatShareAClaimAreOneJobUntilTheLastHasGone(t *testing.T) {
	a, b := pod("a", "both"), pod("b", "both")
	kubelet := startDRA(t, support.NewNode(t, 1), a, b, claim("both", "22Gi", "", "a", "b"))
	mustPrepare(t, kubelet, a, b)
	if left, right := kubelet.environment(t, a), kubelet.environment(t, b); left["REVEZA_JOB"] != right["REVEZA_JOB"] {
		t.Errorf("jobs %s and %s", left["REVEZA_JOB"], right["REVEZA_JOB"])
	}
	if err := kubelet.UnprepareResources(context.Background(), a); err != nil {
		t.Fatal(err)
	}
	kubelet.environment(t, b) // still there
	if err := kubelet.UnprepareResources(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	if left := files(t, kubelet.node.Options.CDIFolder); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if left := files(t, filepath.Join(kubelet.node.Options.Kubelet, "plugins", share.Driver, "shares")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// files returns the contents of a folder's files by name.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[entry.Name()] = string(text)
	}
	return found
}

func TestPreparingAClaimLeavesTheOthersAsTheyAre(t *testing.T) {
	a, b := pod("a", "one"), pod("b", "two")
	kubelet := startDRA(t, support.NewNode(t, 1), a, b, claim("one", "22Gi", "", "a"),
		claim("two", "22Gi", policy(`"weight":7`), "b"))
	mustPrepare(t, kubelet, a)
	before := files(t, kubelet.node.Options.CDIFolder)
	mustPrepare(t, kubelet, b)
	after := files(t, kubelet.node.Options.CDIFolder)
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s changed:\n%s", name, after[name])
		}
	}
	if len(before) != 1 || len(after) != 2 {
		t.Errorf("%d specifications, then %d", len(before), len(after))
	}
}

// After a reboot the folder of specifications is empty; after an upgrade the library is another one. A
// running claim keeps what it had.
func TestARestartedPluginKeepsWhatWasPrepared(t *testing.T) {
	a, b := pod("a", "one"), pod("b", "two")
	node := support.NewNode(t, 1)
	kubelet := startDRA(t, node, a, b, claim("one", "22Gi", policy(`"weight":2`), "a"), claim("two", "1Gi", "", "b"))
	mustPrepare(t, kubelet, a)
	before := files(t, node.Options.CDIFolder)
	kubelet.stop()
	if err := os.RemoveAll(node.Options.CDIFolder); err != nil {
		t.Fatal(err)
	}
	node.ReplaceImage(t)
	kubelet.startPlugin(t)
	mustPrepare(t, kubelet, b)
	after := files(t, node.Options.CDIFolder)
	for name, text := range before {
		if after[name] != text {
			t.Errorf("%s was\n%s\nis\n%s", name, text, after[name])
		}
	}
	libraries := map[string]bool{}
	for _, pod := range []*v1.Pod{a, b} {
		library := kubelet.mountSource(t, pod, share.LibraryInContainer)
		if _, err := os.Stat(library); err != nil {
			t.Error(err)
		}
		libraries[library] = true
	}
	if len(libraries) != 2 {
		t.Errorf("libraries of the old and the new claim: %v", libraries)
	}
	// Unprepared by another process than the one that prepared it.
	if err := kubelet.UnprepareResources(context.Background(), a); err != nil {
		t.Fatal(err)
	}
	if left := files(t, node.Options.CDIFolder); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// A restarted kubelet prepares all claims again, also while no daemon answers. They stay as they were, though
// the plugin has another library by now.
func TestARestartedKubeletFindsTheSameDevices(t *testing.T) {
	a := pod("a", "one")
	kubelet := startDRA(t, support.NewNode(t, 1), a, claim("one", "22Gi", "", "a"))
	mustPrepare(t, kubelet, a)
	before := files(t, kubelet.node.Options.CDIFolder)
	kubelet.stop()
	kubelet.node.ReplaceImage(t)
	kubelet.startPlugin(t)
	kubelet.node.StopDaemon()
	kubelet.startManager(t)
	mustPrepare(t, kubelet, a)
	for name, text := range files(t, kubelet.node.Options.CDIFolder) {
		if before[name] != text {
			t.Errorf("%s changed:\n%s", name, text)
		}
	}
}

// During an upgrade two instances run; whichever kubelet asks knows what the other has prepared.
func TestTwoInstancesTakeTurnsDuringAnUpgrade(t *testing.T) {
	a, b := pod("a", "one"), pod("b", "two")
	node := support.NewNode(t, 1)
	node.Options.PodUID = "old"
	kubelet := startDRA(t, node, a, b, claim("one", "22Gi", "", "a"), claim("two", "1Gi", "", "b"))
	mustPrepare(t, kubelet, a)
	stopOld := kubelet.stop
	node.Options.PodUID = "new"
	kubelet.startPlugin(t)
	registry := filepath.Join(node.Options.Kubelet, "plugins_registry")
	support.Eventually(t, "both are there", func() bool { return len(entries(t, registry)) == 2 })
	mustPrepare(t, kubelet, b)
	stopOld()
	support.Eventually(t, "the old one has gone", func() bool { return len(entries(t, registry)) == 1 })
	for _, pod := range []*v1.Pod{a, b} {
		support.Eventually(t, "its claim is unprepared", func() bool {
			return kubelet.UnprepareResources(context.Background(), pod) == nil
		})
	}
	if left := files(t, node.Options.CDIFolder); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func entries(t *testing.T, folder string) []os.DirEntry {
	t.Helper()
	found, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAWrongConfigurationIsRefusedByName(t *testing.T) {
	for name, test := range map[string]struct{ parameters, names string }{
		"weight":    {policy(`"weight":1000`), "weight: 1000 is not a number from 0.01 to 100"},
		"priority":  {policy(`"priority":"urgent"`), `priority: "urgent" is not one of low, normal, high`},
		"request":   {policy(`"request":"23Gi"`), "request: 23Gi exceeds the limit of 22Gi"},
		"limit":     {policy(`"limit":"23Gi"`), "limit: 23Gi exceeds the memory of the claim, 22Gi"},
		"class":     {policy(`"class":"fast"`), `class: this node has no class "fast"`},
		"unknown":   {policy(`"wieght":2`), `unknown field "wieght"`},
		"kind":      {`{"apiVersion":"v1","kind":"Pod"}`, `kind "Pod"`},
		"not json":  {`{`, "unexpected end"},
		"preloaded": {policy(`"preload":"no"`), `preload: "no" is neither`},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := pod("a", "bad"), pod("b", "good")
			kubelet := startDRA(t, support.NewNode(t, 1), a, b, claim("bad", "22Gi", test.parameters, "a"),
				claim("good", "22Gi", "", "b"))
			mustPrepare(t, kubelet, b)
			err := kubelet.prepare(t, a)
			if err == nil || !strings.Contains(err.Error(), test.names) {
				t.Errorf("error: %v, want: %s", err, test.names)
			}
			if left := files(t, kubelet.node.Options.CDIFolder); len(left) != 1 {
				t.Errorf("specifications: %v", left)
			}
		})
	}
}

func TestClassesAndConfigurationsOverrideEachOther(t *testing.T) {
	a := pod("a", "one")
	node := support.NewNode(t, 1)
	node.Options.Configuration = filepath.Join(filepath.Dir(node.Options.Image), "config.yaml")
	text := "classes:\n  night: {weight: 0.5, priority: low, interactive: true}\n"
	if err := os.WriteFile(node.Options.Configuration, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	made := claim("one", "22Gi", policy(`"priority":"normal"`), "a")
	made.Status.Allocation.Devices.Config = append(made.Status.Allocation.Devices.Config,
		configuration(resourceapi.AllocationConfigSourceClass, policy(`"class":"night","priority":"high","weight":3`)))
	kubelet := startDRA(t, node, a, made)
	mustPrepare(t, kubelet, a)
	// The claim's priority before the DeviceClass's, its weight before the class's.
	want := "weight=300,priority=1,interactive=1,request=0,limit=23622320128"
	if got := kubelet.environment(t, a)["REVEZA_POLICY"]; got != want {
		t.Errorf("REVEZA_POLICY=%s, want %s", got, want)
	}
}

func TestOwnPreloadWinsAndIsSaidInAnEvent(t *testing.T) {
	a := pod("a", "one", v1.EnvVar{Name: "LD_PRELOAD", Value: "/lib/mine.so"})
	kubelet := startDRA(t, support.NewNode(t, 1), a, claim("one", "22Gi", "", "a"))
	mustPrepare(t, kubelet, a)
	if got := kubelet.environment(t, a, "LD_PRELOAD=/lib/mine.so")["LD_PRELOAD"]; got != "/lib/mine.so" {
		t.Errorf("LD_PRELOAD=%s", got)
	}
	support.Eventually(t, "an Event", func() bool {
		list, err := kubelet.client.EventsV1().Events("default").List(context.Background(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 1 && list.Items[0].Reason == "OwnPreload" &&
			list.Items[0].Regarding.Name == "a" && list.Items[0].Type == v1.EventTypeWarning
	})
}

func TestAPodThatWaitsForTheGPUIsToldWhy(t *testing.T) {
	a, b := pod("a", "one"), pod("b", "two")
	node := support.NewNode(t, 1)
	kubelet := startDRA(t, node, a, b, claim("one", "22Gi", "", "a"), claim("two", "22Gi", "", "b"))
	mustPrepare(t, kubelet, a, b)
	why := "waiting for GPU memory: 12 of 24 GiB are held by others"
	node.SetPrograms(t,
		map[string]any{"pid": 1, "job": share.Job("claim-one"), "state": "waiting", "why": why, "ran_s": 0},
		map[string]any{"pid": 2, "job": share.Job("claim-two"), "state": "running", "why": "", "ran_s": 9},
		map[string]any{"pid": 3, "job": "00000000000000aa", "state": "waiting", "why": why, "ran_s": 0})
	support.Eventually(t, "one Event", func() bool {
		list, err := kubelet.client.EventsV1().Events("default").List(context.Background(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 1 && list.Items[0].Reason == "WaitsForGPU" &&
			list.Items[0].Regarding.Name == "a" && list.Items[0].Note == why
	})
	support.Eventually(t, "the condition of a claim that waits", func() bool {
		waits := kubelet.condition(t, "one", "WaitsForGPU")
		return waits != nil && waits.Status == metav1.ConditionTrue && waits.Message == why
	})
	node.SetPrograms(t, map[string]any{"pid": 1, "job": share.Job("claim-one"), "state": "running", "why": "", "ran_s": 1})
	support.Eventually(t, "the condition of a claim that waits no longer", func() bool {
		return kubelet.condition(t, "one", "WaitsForGPU").Status == metav1.ConditionFalse
	})
	if waits := kubelet.condition(t, "two", "WaitsForGPU"); waits != nil {
		t.Errorf("a claim that never waited: %v", waits)
	}
}

func TestAClaimSaysWhetherItIsPrepared(t *testing.T) {
	a := pod("a", "one")
	node := support.NewNode(t, 1)
	node.StopDaemon()
	kubelet := startDRA(t, node, a, claim("one", "22Gi", "", "a"))
	if err := kubelet.prepare(t, a); err == nil {
		t.Fatal("prepared without a daemon")
	}
	failed := kubelet.condition(t, "one", "Ready")
	if failed == nil || failed.Status != metav1.ConditionFalse || failed.Reason != "PreparationFailed" ||
		!strings.Contains(failed.Message, "the daemon of this node does not answer") {
		t.Errorf("%v", failed)
	}
	node.StartDaemon(t)
	mustPrepare(t, kubelet, a)
	if ready := kubelet.condition(t, "one", "Ready"); ready.Status != metav1.ConditionTrue || ready.Reason != "Prepared" {
		t.Errorf("%v", ready)
	}
}

func TestPreloadByFileLeavesTheVariableAlone(t *testing.T) {
	a := pod("a", "one", v1.EnvVar{Name: "LD_PRELOAD", Value: "/lib/mine.so"})
	kubelet := startDRA(t, support.NewNode(t, 1), a, claim("one", "22Gi", policy(`"preload":"file"`), "a"))
	mustPrepare(t, kubelet, a)
	if got := kubelet.environment(t, a, "LD_PRELOAD=/lib/mine.so")["LD_PRELOAD"]; got != "/lib/mine.so" {
		t.Errorf("LD_PRELOAD=%s", got)
	}
	text, err := os.ReadFile(kubelet.mountSource(t, a, "/etc/ld.so.preload"))
	if err != nil || string(text) != share.LibraryInContainer+"\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestWithoutADaemonAPodWaitsAndIsTold(t *testing.T) {
	a := pod("a", "one")
	node := support.NewNode(t, 1)
	node.StopDaemon()
	kubelet := startDRA(t, node, a, claim("one", "22Gi", "", "a"))
	err := kubelet.prepare(t, a)
	if err == nil || !strings.Contains(err.Error(), "the daemon of this node does not answer") {
		t.Fatalf("error: %v", err)
	}
	node.StartDaemon(t)
	mustPrepare(t, kubelet, a)
}

func TestRequestsOfAClaimHaveOnePolicy(t *testing.T) {
	a := pod("a", "one")
	made := claim("one", "22Gi", "", "a")
	second := made.Status.Allocation.Devices.Results[0]
	second.Request = "other"
	second.ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("1Gi")}
	made.Status.Allocation.Devices.Results = append(made.Status.Allocation.Devices.Results, second)
	kubelet := startDRA(t, support.NewNode(t, 1), a, made)
	if err := kubelet.prepare(t, a); err == nil || !strings.Contains(err.Error(), "requests gpu and other differ") {
		t.Errorf("error: %v", err)
	}
}

func TestTheNodePublishesCardsWithTheMemoryBehindThem(t *testing.T) {
	kubelet := startDRA(t, support.NewNode(t, 2))
	var list *resourceapi.ResourceSliceList
	support.Eventually(t, "a slice", func() bool {
		var err error
		list, err = kubelet.client.ResourceV1().ResourceSlices().List(context.Background(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 1
	})
	devices := list.Items[0].Spec.Devices
	if len(devices) != 2 || devices[0].Name != deviceName || !*devices[0].AllowMultipleAllocations {
		t.Fatalf("devices: %+v", devices)
	}
	memory := devices[0].Capacity["memory"]
	if memory.Value.Value() != support.HostBytes ||
		memory.RequestPolicy.ValidRange.Max.Value() != support.CardBytes {
		t.Errorf("memory: %+v", memory)
	}
}
