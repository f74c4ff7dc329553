package samples_test

import (
	"fmt"
	"strings"

	"meridian/format/samples"
	"meridian/trace"
)

func ExampleRead() {
	var warnings trace.Warnings
	hosts, list, err := samples.Read(strings.NewReader("web 100.000000250 100.0 0.000001 # HOST HOST_TIME REFERENCE_TIME ERROR\n"), "samples.txt", &warnings)
	for _, s := range list {
		fmt.Printf("%s is %d ns ahead of %s, give or take %d ns\n", hosts[s.Clock], int64(s.Host-s.Reference), "the reference", s.Error)
	}
	fmt.Println(err)
	// Output:
	// web is 250 ns ahead of the reference, give or take 1000 ns
	// <nil>
}
