// The program image writes a container image to standard output, for `ctr images import`.
//
//	image [-env NAME=VALUE]... [-entrypoint PATH] NAME FOLDER...
package main

import (
	"flag"
	"fmt"
	"os"

	"reveza.io/kubernetes/tests/node/oci"
)

func main() {
	var environment []string
	flag.Func("env", "a `variable` of its containers, NAME=VALUE", func(variable string) error {
		environment = append(environment, variable)
		return nil
	})
	entrypoint := flag.String("entrypoint", "", "`path` of the program that containers run by default")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: image [-env NAME=VALUE]... [-entrypoint PATH] NAME FOLDER... (a layer each)")
		os.Exit(2)
	}
	if err := oci.Write(os.Stdout, flag.Arg(0), oci.Config{Env: environment, Entrypoint: *entrypoint}, flag.Args()[1:]...); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}
