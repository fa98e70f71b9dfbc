// The program render prints the manifests of the chart in a folder. Its values are read from standard input.
//
//	render CHART <VALUES
package main

import (
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/yaml"

	chart "reveza.io/kubernetes/tests/chart"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: render CHART <VALUES")
		os.Exit(2)
	}
	text, err := io.ReadAll(os.Stdin)
	values := map[string]any{}
	if err == nil {
		err = yaml.Unmarshal(text, &values)
	}
	var manifests string
	if err == nil {
		manifests, err = chart.Render(os.Args[1], values)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
	fmt.Print(manifests)
}
