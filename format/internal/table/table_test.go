package table

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/eventtest"
	"meridian/internal/testseed"
	"meridian/trace"
)

func of(k trace.ValueKind) trace.Type { return trace.Type{Kind: k} }

// schema has classes that share names, nest and disagree about types.
func schema() *trace.Schema {
	enum := trace.Type{Kind: trace.Int, Labels: []trace.Label{{Name: "idle", Low: 0, High: 0}}}
	return &trace.Schema{Hosts: []string{"web"}, Classes: []trace.Class{
		{Name: "one", Fields: []trace.Field{{Name: "pid", Type: of(trace.Int)}, {Name: "name", Type: of(trace.Text)},
			{Name: "ratio", Type: of(trace.Float)}, {Name: "time", Type: of(trace.Int)}, {Name: "state", Type: enum}}},
		{Name: "two", Fields: []trace.Field{{Name: "pid", Type: of(trace.Uint)}, {Name: "ratio", Type: of(trace.Int)},
			{Name: "PID", Type: of(trace.Int)}, {Name: "name", Type: of(trace.Int)}, {Name: "pid", Type: of(trace.Int)}}},
		{Name: "three", Fields: []trace.Field{{Name: "ip", Type: trace.Type{Kind: trace.Struct, Fields: []trace.Field{
			{Name: "ttl", Type: of(trace.Uint)}, {Name: "next", Type: trace.Type{Kind: trace.Variant, Fields: []trace.Field{
				{Name: "tcp", Type: of(trace.Int)}, {Name: "udp", Type: of(trace.Int)}}}}}}}}},
	}}
}

func TestFieldsOfOneNameShareAColumnThatHoldsThemAll(t *testing.T) {
	l := New(schema(), 100)
	want := []Column{{"pid", Integer}, {"name", Text}, {"ratio", Real}, {"time_2", Integer}, {"state", Text},
		{"PID_2", Integer}, {"pid_2_2", Integer}, {"ip.ttl", Integer}, {"ip.next.tcp", Integer}, {"ip.next.udp", Integer}}
	if !slices.Equal(l.Columns, want) {
		t.Fatalf("%v", l.Columns)
	}
}

func TestTheMostSharedFieldsHaveTheColumnsThatThereAre(t *testing.T) {
	l := New(schema(), 3)
	if want := []Column{{"pid", Integer}, {"name", Text}, {"ratio", Real}}; !slices.Equal(l.Columns, want) {
		t.Fatalf("%v", l.Columns)
	}
	l.Place(&trace.TimelineEvent{Event: trace.Event{Class: 0}, Values: []trace.Value{trace.OfInt(1), trace.OfText("x"), trace.OfFloat(0.5),
		trace.OfInt(7), trace.OfInt(0)}})
	if got, want := string(l.Rest), `{"time":7,"state":"idle"}`; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

func TestWhatAColumnCannotHoldExactlyIsInTheRest(t *testing.T) {
	l := New(schema(), 100)
	l.Place(&trace.TimelineEvent{Event: trace.Event{Class: 1}, Values: []trace.Value{trace.OfUint(math.MaxUint64), trace.OfInt(1<<53 + 1)}})
	if got, want := string(l.Rest), `{"pid":18446744073709551615,"ratio":9007199254740993}`; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	l.Place(&trace.TimelineEvent{Event: trace.Event{Class: 1}, Values: []trace.Value{trace.OfUint(3), trace.OfInt(1 << 53)}})
	if len(l.Rest) > 0 || l.Cells[0].Value == nil || l.Cells[2].Value == nil {
		t.Errorf("rest %s", l.Rest)
	}
}

func TestAClassThatComesLaterUsesTheColumnsThatThereAre(t *testing.T) {
	g := schema()
	l := New(g, 100)
	g.Classes = append(g.Classes, trace.Class{Fields: []trace.Field{{Name: "pid", Type: of(trace.Int)}, {Name: "new", Type: of(trace.Bytes)}}})
	l.Place(&trace.TimelineEvent{Event: trace.Event{Class: 3}, Values: []trace.Value{trace.OfInt(5), trace.OfBytes([]byte{1, 0xab})}})
	if l.Cells[0].Value.Int() != 5 || string(l.Rest) != `{"new":"01ab"}` {
		t.Errorf("%v %s", l.Cells[0], l.Rest)
	}
}

// leaves counts what is present in values, as deep as columns go.
func leaves(fields []trace.Field, values []trace.Value, depth int) (n int) {
	for i := range min(len(fields), len(values)) {
		v, of := &values[i], &fields[i].Type
		switch {
		case v.Kind == trace.None:
		case !nested(of) || depth >= deepest:
			n++
		case v.Kind == trace.Struct:
			n += leaves(of.Fields, v.Items, depth+1)
		case v.Kind == trace.Variant && v.Bits < uint64(len(of.Fields)) && len(v.Items) == 1:
			n += leaves(of.Fields[v.Bits:v.Bits+1], v.Items, depth+1)
		}
	}
	return n
}

func TestEveryValueIsInACellOrInTheRest(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		g, records := eventtest.Draw(t)
		l := New(g, rapid.IntRange(0, 9).Draw(t, "columns"))
		seen := map[string]bool{}
		for _, c := range l.Columns {
			if seen[strings.ToLower(c.Name)] || slices.Contains(Fixed, c.Name) || c.Name == Rest {
				t.Fatalf("two columns %q", c.Name)
			}
			seen[strings.ToLower(c.Name)] = true
		}
		for i := range records {
			r := &records[i]
			l.Place(r)
			got := 0
			for _, c := range l.Cells {
				if c.Value != nil {
					got++
				}
			}
			if len(l.Rest) > 0 {
				if !json.Valid(l.Rest) {
					t.Fatalf("no JSON: %s", l.Rest)
				}
				d := json.NewDecoder(strings.NewReader(string(l.Rest)))
				depth := 0
				for {
					token, err := d.Token()
					if err != nil {
						break
					}
					if x, ok := token.(json.Delim); ok && (x == '{' || x == '[') {
						depth++
					} else if ok {
						depth--
					}
					_, text := token.(string)
					if depth == 1 && text {
						got++
						var skip json.RawMessage
						d.Decode(&skip)
					}
				}
			}
			want := 0
			if r.Class >= 0 && r.Class < len(g.Classes) {
				want = leaves(g.Classes[r.Class].Fields, r.Values, 0)
			}
			if got != want {
				t.Fatalf("%d values of %d, rest %s", got, want, l.Rest)
			}
		}
	})
}
