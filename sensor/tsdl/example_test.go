package tsdl_test

import (
	"fmt"

	"meridian/sensor/tsdl"
)

func Example() {
	var m tsdl.Metadata
	m.Comment("CTF 1.8")
	m.Integers()
	m.Trace(tsdl.Trace{PacketHeader: tsdl.Struct(1, tsdl.PacketHeader()...)})
	m.Env(tsdl.Text("hostname", "web"), tsdl.Number("vpid", 4711))
	m.Clock(tsdl.Clock{Name: "monotonic", Frequency: 1e9, OffsetSeconds: 1760000000, Absolute: true})
	m.Stamp("monotonic")
	m.Stream(tsdl.Stream{EventHeader: tsdl.Struct(1, tsdl.EventHeader(tsdl.Uint16)...)})

	taken := tsdl.Names{}
	m.Event(tsdl.Event{Name: "http:request", Fields: tsdl.Struct(1,
		tsdl.Uint64.Named(tsdl.FieldName("id", taken)),
		tsdl.String.Named(tsdl.FieldName("user agent", taken)),
	)})
	fmt.Print(m.String())
	// Output:
	// /* CTF 1.8 */
	// typealias integer { size = 8; align = 8; signed = false; } := uint8;
	// typealias integer { size = 16; align = 8; signed = false; } := uint16;
	// typealias integer { size = 32; align = 8; signed = false; } := uint32;
	// typealias integer { size = 64; align = 8; signed = false; } := uint64;
	// typealias integer { size = 64; align = 8; signed = true; } := int64;
	// trace {
	// 	major = 1;
	// 	minor = 8;
	// 	byte_order = le;
	// 	packet.header := struct {
	// 		uint32 magic;
	// 		uint8 uuid[16];
	// 		uint32 stream_id;
	// 		uint64 stream_instance_id;
	// 	};
	// };
	// env {
	// 	hostname = "web";
	// 	vpid = 4711;
	// };
	// clock {
	// 	name = monotonic;
	// 	freq = 1000000000;
	// 	offset_s = 1760000000;
	// 	offset = 0;
	// 	absolute = true;
	// };
	// typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := stamp;
	// stream {
	// 	id = 0;
	// 	event.header := struct {
	// 		stamp timestamp;
	// 		uint16 id;
	// 	};
	// };
	// event {
	// 	name = "http:request";
	// 	id = 0;
	// 	stream_id = 0;
	// 	fields := struct {
	// 		uint64 _id;
	// 		string _user_agent;
	// 	};
	// };
}
