package index

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/internal/testseed"
	"meridian/trace"
)

func TestAnIdentifierIsTheHexadecimalEndOfItsText(t *testing.T) {
	schema := &trace.Schema{Hosts: []string{"a"}, Streams: []trace.Stream{{Name: "row", Host: "a", Kind: trace.Thread, Parent: -1}},
		Maps: []trace.HostMap{{Map: new(clock.Identity())}}}
	fields := []trace.Field{{Name: "id", Type: trace.Type{Kind: trace.Text}}, {Name: "n", Type: trace.Type{Kind: trace.Uint, Base: 16}},
		{Name: "raw", Type: trace.Type{Kind: trace.Bytes}}}
	schema.Classes = []trace.Class{{Name: "span", Fields: fields}, {Name: "swapped", Fields: []trace.Field{fields[2], fields[0]}}, {Name: "none", Fields: fields[1:]}}
	testseed.Check(t, func(t *rapid.T) {
		var records []trace.TimelineEvent
		for i := range rapid.SampledFrom([]int{0, 1, 300, 20_000}).Draw(t, "events") {
			e := trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(i), Class: i * 7 % 3}, Time: clock.TimelineTime(i)}
			id := trace.OfText([]string{"", "0", "00000000000000000123456789abcdef", "ABCDEF", "g1", "-1", "0x1", "1_0", "é", strconv.FormatInt(int64(i), 16)}[i%10])
			if i%11 == 0 {
				id = trace.Value{}
			}
			raw := trace.Value{Kind: trace.Bytes, Data: []byte{byte(i), 1, 2, 3, 4, 5, 6, 7, 8}[:1+i%9]}
			e.Values = [][]trace.Value{{id, trace.OfUint(uint64(i)), raw}, {raw, id}, {trace.OfUint(uint64(i)), raw}}[e.Class]
			records = append(records, e)
		}
		b, err := NewBuilder(schema, Options{})
		eventtest.Write(t, b, err, records)
		x, err := b.Index()
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		names := []string{"id", "raw", "n"}
		from := rapid.Int64Range(0, int64(len(records))).Draw(t, "from")
		next := from
		number := func(e int64, name string) uint64 {
			for i, f := range schema.Classes[records[e].Class].Fields {
				if f.Name == name {
					text := string(f.Append(nil, &records[e].Values[i]))
					n, err := strconv.ParseUint(text[max(0, len(text)-16):], 16, 64)
					if err != nil {
						return 0
					}
					return n
				}
			}
			return 0
		}
		has := func(e int64) bool { return records[e].Class < 2 }
		err = x.Identifiers(from, names, func(event int64, ids []uint64) {
			for next < event && !has(next) {
				next++
			}
			if event != next || len(ids) != len(names) {
				t.Fatalf("event %d with %d identifiers, want event %d", event, len(ids), next)
			}
			for i, name := range names {
				if want := number(event, name); ids[i] != want {
					t.Fatalf("%s of event %d is %x, want %x", name, event, ids[i], want)
				}
			}
			next++
		})
		if err != nil {
			t.Fatal(err)
		}
		for ; next < int64(len(records)); next++ {
			if has(next) {
				t.Fatalf("event %d is not shown", next)
			}
		}
	})
}
