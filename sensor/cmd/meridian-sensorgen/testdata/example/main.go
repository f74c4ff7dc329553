// Command example records one struct of all that meridian-sensorgen can make an event of, into the directory that it is told.
package main

import (
	"fmt"
	"net/netip"
	"os"
	"time"

	"meridian/sensor"
)

//go:generate go run meridian/sensor/cmd/meridian-sensorgen -type HTTPRequest -category web

type status uint16

type place struct {
	Name string
	Port uint16
}

// HTTPRequest has more fields than an event with parameters could have.
type HTTPRequest struct {
	ID      int64
	Status  status
	Small   int8
	Loud    bool
	Share   float32
	Seconds float64
	Path    string
	Body    []byte
	Peer    place
	place
	Codes    [3]int32 `sensor:"code"`
	Took     time.Duration
	Begun    time.Time
	Address  netip.Addr `sensor:"-"`
	Count    int
	Next     *HTTPRequest `sensor:"-"`
	_        [4]byte
	internal struct{ a, b uint8 }
}

func main() {
	stop, err := sensor.Record(os.Args[1], sensor.Options{Dir: os.Args[1] + ".ring"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	r := &HTTPRequest{
		ID: -1, Status: 404, Small: -8, Loud: true, Share: 0.5, Seconds: 0.25, Path: "/a\x00b", Body: []byte{1, 2}, Peer: place{"peer", 80},
		place: place{"own", 81}, Codes: [3]int32{7, 8, 9}, Took: time.Second, Begun: time.Unix(1, 5), Count: 12,
	}
	r.internal.a, r.internal.b = 21, 22
	r.Emit()
	(&HTTPRequest{Begun: time.Unix(0, 0)}).Emit()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
