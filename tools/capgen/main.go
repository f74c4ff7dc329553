// Command capgen writes the captures of two hosts that talked to each other, as large as wanted and always the same for
// the same flags, to measure and test with.
//
//	capgen -packets 5000000 -o DIR     DIR/a.pcap and DIR/b.pcap, about that many packets each
//
// The traffic is simulated event by event in true time, so that each capture is in the order of its own clock:
//
//	connections, datagrams --> events in order of time --> frame leaves one host --> its capture
//	                                 ^                          | delay, jitter, loss
//	                                 '---- arrival event <------'                     --> the other's capture
//
// There are connections of TCP with handshake, full segments, timestamps, delayed and selective acknowledgements, lost
// segments (in the sender's capture only) sent again, and FIN; and one packet in twenty is UDP, as DNS and QUIC look. All
// headers, lengths and checksums are right. The clocks are seconds apart, 40 ppm fast against each other, and wander.
//
// It takes about a second for a million packets.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
)

func main() {
	var o options
	flag.IntVar(&o.packets, "packets", 100_000, "packets in each capture, about")
	flag.IntVar(&o.connections, "connections", 2000, "TCP connections; fewer if there are not a hundred packets for each")
	flag.Float64Var(&o.seconds, "seconds", 600, "duration")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of all that is random")
	flag.IntVar(&o.snap, "snap", 128, "bytes kept of each packet")
	format := flag.String("format", "pcap", "pcap (nanoseconds), pcap-us or pcapng")
	dir := flag.String("o", "", "directory to write to; it is made if it is missing")
	flag.Parse()
	if *dir == "" || flag.NArg() > 0 || o.packets < 1 || o.connections < 1 || o.seconds <= 0 || o.snap < 1 {
		flag.Usage()
		os.Exit(2)
	}
	// There is next to no garbage; collecting it would only take time.
	debug.SetGCPercent(400)
	if err := generate(o, *format, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "capgen:", err)
		os.Exit(1)
	}
}

// generate runs the simulation and writes both captures.
func generate(o options, format, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	extension := ".pcap"
	if format == "pcapng" {
		extension = ".pcapng"
	}
	var outs [2]output
	for i, name := range []string{"a", "b"} {
		f, err := os.Create(filepath.Join(dir, name+extension))
		if err != nil {
			return err
		}
		defer f.Close()
		if outs[i], err = newOutput(f, format, name, o.snap); err != nil {
			return err
		}
	}
	w := newWorld(o, outs)
	if err := w.run(); err != nil {
		return err
	}
	for i, out := range outs {
		if err := out.flush(); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s: %d packets, clock %+.3f s and %+.3f ppm from the truth\n",
			filepath.Join(dir, string(rune('a'+i))+extension), w.hosts[i].count, float64(w.hosts[i].offset)/1e9, w.hosts[i].ppm)
	}
	return nil
}
