// The program reveza-cdi-hook is an OCI hook (createRuntime): it refuses containers whose programs
// cannot load libreveza.so. Runtimes put what it writes to standard error into the pod's Event.
package main

import (
	"fmt"
	"os"

	"reveza.io/kubernetes/internal/image"
)

func main() {
	if err := image.CheckHook(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "reveza:", err)
		os.Exit(1)
	}
}
