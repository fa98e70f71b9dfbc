package share

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"path"
)

// Where a container finds what it is given.
const (
	LibraryInContainer = "/opt/reveza/lib/libreveza.so"
	preloadInContainer = "/etc/ld.so.preload"
)

const maxName = 63 // bytes of a name that the daemon keeps

// Device is a card, or a part of one, that was given to a share.
type Device struct {
	UUID    string `json:"uuid"`              // as NVML writes it
	Name    string `json:"name,omitempty"`    // in the ResourceSlice
	Pool    string `json:"pool,omitempty"`    // of the ResourceSlice
	Request string `json:"request,omitempty"` // of the claim
	ShareID string `json:"shareID,omitempty"`
}

// Share is what one claim, or one container of the device plugin, was given. All its processes are one
// job: they have the card at the same time.
type Share struct {
	ID         string   `json:"id"` // UID of the claim
	Name       string   `json:"name"`
	Devices    []Device `json:"devices,omitempty"`
	Policy     Policy   `json:"policy"`
	OwnPreload bool     `json:"ownPreload,omitempty"` // a container sets LD_PRELOAD itself
	Files      Files    `json:"files"`                // of when it was prepared
}

// Files is where the node keeps what containers get. Paths of the host.
type Files struct {
	Library string `json:"library"`
	Hook    string `json:"hook,omitempty"`    // refuses images that the library cannot enter
	Preload string `json:"preload,omitempty"` // an ld.so.preload that names LibraryInContainer
}

// Settings are the same for all shares of a node.
type Settings struct {
	Socket     string            `json:"socket"`     // of the daemon, on the host and in containers
	Group      uint32            `json:"group"`      // that the daemon admits; 0: none
	GPUBudget  int64             `json:"gpuBudget"`  // the size of card that programs see; 0: the card's
	DriverCDI  string            `json:"driverCDI"`  // kind of the driver's own CDI devices: nvidia.com/gpu
	Runtime    bool              `json:"runtime"`    // NVIDIA's container runtime provides the driver
	ExtraEnv   map[string]string `json:"extraEnv"`   // for all containers
	ExtraMount map[string]string `json:"extraMount"` // host path to container path, read-only
}

// Job returns the number of the job of an ID, never 0. Two IDs differ in it but for chance: 64 bits
// of a hash.
func Job(id string) string {
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("%016x", max(binary.BigEndian.Uint64(sum[:]), 1))
}

// Environment returns the variables of a share, which libreveza.so reads.
func (s Settings) Environment(share Share) map[string]string {
	environment := map[string]string{
		"REVEZA_SOCKET": s.Socket,
		// A program that was given a share never runs beside the others.
		"REVEZA_REQUIRE_DAEMON": "1",
		"REVEZA_JOB":            Job(share.ID),
		"REVEZA_NAME":           share.Name[max(0, len(share.Name)-maxName):],
	}
	if policy := share.Policy.Variable(); policy != "" {
		environment["REVEZA_POLICY"] = policy
	}
	if s.GPUBudget > 0 {
		environment["REVEZA_GPU_BUDGET"] = fmt.Sprint(s.GPUBudget)
	}
	if !share.Policy.PreloadsByFile() && !share.OwnPreload {
		environment["LD_PRELOAD"] = LibraryInContainer
	}
	if s.Runtime {
		uuids := ""
		for i, uuid := range share.UUIDs() {
			if i > 0 {
				uuids += ","
			}
			uuids += uuid
		}
		environment["NVIDIA_VISIBLE_DEVICES"] = uuids
		environment["NVIDIA_DRIVER_CAPABILITIES"] = "compute,utility"
	}
	for name, value := range s.ExtraEnv {
		environment[name] = value
	}
	return environment
}

// Mount is a path of the host in a container.
type Mount struct {
	Host, Container string
	Writable        bool
}

// Mounts returns what the containers of a share see of the host. The folder of the socket is mounted,
// not the socket, so that the socket of the daemon's next start is seen; clients keep locks in it.
func (s Settings) Mounts(share Share) []Mount {
	folder := path.Dir(s.Socket)
	mounts := []Mount{
		{Host: share.Files.Library, Container: LibraryInContainer},
		{Host: folder, Container: folder, Writable: true},
	}
	if share.Policy.PreloadsByFile() {
		mounts = append(mounts, Mount{Host: share.Files.Preload, Container: preloadInContainer})
	}
	for _, host := range sortedKeys(s.ExtraMount) {
		mounts = append(mounts, Mount{Host: host, Container: s.ExtraMount[host]})
	}
	return mounts
}

// UUIDs returns the cards of a share, each once.
func (s Share) UUIDs() []string {
	var uuids []string
	seen := map[string]bool{}
	for _, device := range s.Devices {
		if !seen[device.UUID] {
			uuids = append(uuids, device.UUID)
		}
		seen[device.UUID] = true
	}
	return uuids
}
