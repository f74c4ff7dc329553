// Command meridian-sensorgen makes a method Emit for structs, which writes all their fields as one event of package sensor.
//
// In goes a package of Go, out comes a file in it:
//
//	//go:generate go run meridian/sensor/cmd/meridian-sensorgen -type Request,Reply -category http
//
//	type Request struct {                          func (v *Request) Emit()     event http:request
//		ID    int64                                ID      integer of 64 bits
//		From  netip.Addr  `sensor:"-"`             left out
//		Peer  struct{ Name string; Port uint16 }   Peer_Name, Peer_Port
//		Codes [2]int32    `sensor:"code"`          code_0, code_1
//		Begun time.Time                            Begun   ns since 1970
//	}
//
// Structs and arrays within are flattened, however large the whole is: emitting costs one store a number, as with the events of
// up to eight fields. What an event cannot hold, as maps and pointers, is an error, unless its tag is "-".
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	types := flag.String("type", "", "names of the structs, between commas")
	category := flag.String("category", "", "category of the events; default: the package's name")
	output := flag.String("output", "", "file to write; default: the first name in small letters, and _sensor.go")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: meridian-sensorgen -type NAME[,NAME...] [-category NAME] [-output FILE] [DIR]")
		flag.PrintDefaults()
	}
	flag.Parse()
	dir := "."
	if flag.NArg() > 0 {
		dir = flag.Arg(0)
	}
	if *types == "" || flag.NArg() > 1 {
		flag.Usage()
		os.Exit(2)
	}
	names := strings.Split(*types, ",")
	path := *output
	if path == "" {
		path = filepath.Join(dir, strings.ToLower(names[0])+"_sensor.go")
	}
	code, err := generate(dir, filepath.Base(path), *category, names)
	if err == nil {
		err = os.WriteFile(path, code, 0o666)
	}
	if err != nil {
		var usage usageError
		fmt.Fprintln(os.Stderr, "meridian-sensorgen:", err)
		if errors.As(err, &usage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// usageError is a mistake in the arguments.
type usageError string

func (e usageError) Error() string { return string(e) }
