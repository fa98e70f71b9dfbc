// Package oci writes container images without a container engine.
package oci

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"strings"
)

const mediaType = "application/vnd.oci.image."

// Config is what containers of an image have by default.
type Config struct {
	Env        []string
	Entrypoint string // empty: none
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type archive struct {
	*tar.Writer
}

func (a archive) file(name string, content []byte) error {
	if err := a.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := a.Write(content)
	return err
}

func (a archive) blob(kind string, content []byte) (descriptor, error) {
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	return descriptor{MediaType: mediaType + kind, Digest: "sha256:" + digest, Size: len(content)},
		a.file("blobs/sha256/"+digest, content)
}

func (a archive) json(kind string, value any) (descriptor, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return descriptor{}, err
	}
	return a.blob(kind, content)
}

// Write writes an image layout as a tar archive, for `ctr images import`: one layer per folder, under the
// full name of the image.
func Write(to io.Writer, image string, config Config, folders ...string) error {
	out := archive{tar.NewWriter(to)}
	var layers []descriptor
	var digests []string
	for _, folder := range folders {
		var content bytes.Buffer
		layer := tar.NewWriter(&content)
		err := layer.AddFS(os.DirFS(folder))
		if err == nil {
			err = layer.Close()
		}
		if err != nil {
			return err
		}
		written, err := out.blob("layer.v1.tar", content.Bytes())
		if err != nil {
			return err
		}
		layers = append(layers, written)
		digests = append(digests, written.Digest)
	}
	defaults := map[string]any{"Env": config.Env}
	if config.Entrypoint != "" {
		defaults["Entrypoint"] = []string{config.Entrypoint}
	}
	made, err := out.json("config.v1+json", map[string]any{"architecture": "amd64", "os": "linux",
		"config": defaults,
		"rootfs": map[string]any{"type": "layers", "diff_ids": digests}})
	if err != nil {
		return err
	}
	manifest, err := out.json("manifest.v1+json", map[string]any{"schemaVersion": 2,
		"mediaType": mediaType + "manifest.v1+json", "config": made, "layers": layers})
	if err != nil {
		return err
	}
	manifest.Annotations = map[string]string{"io.containerd.image.name": image,
		"org.opencontainers.image.ref.name": image[strings.LastIndex(image, ":")+1:]}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []descriptor{manifest}})
	if err == nil {
		err = out.file("index.json", index)
	}
	if err == nil {
		err = out.file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	}
	if err != nil {
		return err
	}
	return out.Close()
}
