package pcap_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"

	"meridian/format/pcap"
	"meridian/trace"
)

// Every frame of a capture is written again, a second later, as pcapng.
func Example() {
	var warnings trace.Warnings
	in, err := pcap.Open("testdata/tcpdump-ns.pcap", &warnings)
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	var out bytes.Buffer
	w, err := pcap.NewWriter(&out, []pcap.WriterInterface{{Name: "web", LinkType: in.Interfaces()[0].LinkType}}, "one second later")
	if err != nil {
		log.Fatal(err)
	}
	var frame trace.Frame
	for err = in.Next(&frame); err == nil; err = in.Next(&frame) {
		frame.Time += 1_000_000_000
		if err := w.Write(0, &frame); err != nil {
			log.Fatal(err)
		}
	}
	if err != io.EOF {
		log.Fatal(err)
	}
	fmt.Println(frame.Number+1, "frames", w.Flush(), pcap.Recognises(out.Bytes()))
	// Output: 105 frames <nil> true
}

func ExampleRead() {
	capture, err := pcap.Read(context.Background(), "testdata/tcpdump-ns.pcap", "web", nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	first, last, _ := capture.Extent()
	fmt.Println(capture.Packets.Len(), "packets,", len(capture.Flows), "flows,", last.Sub(first), "with a granularity of", capture.Granularity, "ns")
	// Output: 105 packets, 18 flows, 2.089756067s with a granularity of 1 ns
}
