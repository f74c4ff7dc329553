package chrome

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"meridian/internal/eventtest"
	"meridian/internal/testseed"
	"meridian/trace"
)

func parse(text string) (*File, []string, error) {
	var w trace.Warnings
	f, err := read(strings.NewReader(text), "f", &w)
	return f, w.Lines(), err
}

// lines are the events of a file as text: time, row, what, name, number of the slice, role, fields.
func lines(t eventtest.Fataler, f *File) (list []string) {
	s := f.Events()
	for e := range eventtest.All(t, s) {
		class := s.Classes()[e.Class]
		b := fmt.Appendf(nil, "%d %s %c%s:%s", e.Time, s.Streams()[e.Stream].Name, ".()#"[e.Phase], class.Category, class.Name)
		if e.Slice != 0 {
			b = fmt.Appendf(b, " slice %d", e.Slice)
		}
		if e.Role != trace.NoRole {
			b = fmt.Appendf(b, " role %d", e.Role)
		}
		for i, v := range s.Values() {
			if v.Kind != trace.None {
				b = v.Append(fmt.Appendf(b, " %s=", class.Fields[i].Name), &class.Fields[i].Type)
			}
		}
		list = append(list, string(b))
	}
	return list
}

func want(t *testing.T, f *File, list ...string) {
	t.Helper()
	if got := lines(t, f); !reflect.DeepEqual(got, list) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(list, "\n"))
	}
}

func TestEveryPhaseHasItsMeaning(t *testing.T) {
	f, warnings, err := parse(`{"displayTimeUnit":"ns","otherData":{"version":[1,{"a":2}]},"traceEvents":[
{"name":"process_name","ph":"M","pid":7,"args":{"name":"nginx"}},
{"name":"thread_name","ph":"M","pid":7,"tid":8,"args":{"name":"worker 8"}},
{"name":"A","cat":"c","ph":"B","ts":1,"pid":7,"tid":8,"args":{"n":1}},
{"name":"x","cat":"c","ph":"X","ts":1.5,"dur":0.25,"pid":7,"tid":8,"args":{"f":1.5,"s":"é\n","b":true,"l":[1,2],"z":null}},
{"ph":"E","ts":3,"pid":7,"tid":8,"args":{"m":-2}},
{"name":"i","ph":"i","ts":2,"pid":7,"tid":8,"s":"t"},
{"name":"I","ph":"I","ts":2,"pid":7,"tid":8,"s":"p"},
{"name":"ctr","ph":"C","ts":2.001,"pid":7,"args":{"cats":4,"dogs":1.5}},
{"name":"ctr","id":"2","ph":"C","ts":2.001,"pid":7,"args":{"cats":5}},
{"name":"req","cat":"n","ph":"b","id":"0x1","ts":4,"pid":7},
{"name":"req","cat":"n","ph":"b","id":"0x2","ts":5,"pid":7},
{"name":"req","cat":"n","ph":"n","id":"0x2","ts":5.5,"pid":7},
{"name":"req","cat":"n","ph":"e","id":"0x1","ts":6,"pid":7,"args":{"r":1}},
{"name":"req","cat":"n","ph":"e","id":"0x2","ts":7,"pid":7},
{"name":"old","cat":"n","ph":"S","id":3,"ts":7,"pid":7},
{"name":"old","cat":"n","ph":"T","id":3,"ts":7.5,"pid":7},
{"name":"old","cat":"n","ph":"F","id":3,"ts":8,"pid":7},
{"name":"fl","cat":"n","ph":"s","id":9,"ts":9,"pid":7,"tid":8},
{"name":"fl","cat":"n","ph":"f","bp":"e","id":9,"ts":10,"pid":7,"tid":"other"},
{"name":"obj","ph":"N","id":"0x9","ts":11,"pid":7,"tid":8},
{"name":"open","ph":"B","ts":12,"pid":7,"tid":8},
{"ph":"E","ts":13,"pid":7,"tid":9},
{"name":"odd","ph":"Q","ts":13,"pid":7,"tid":9},
{"name":"timeless","ph":"i","pid":7,"tid":9}
],"systemTraceEvents":"SystemTraceData"}`)
	if err != nil {
		t.Fatal(err)
	}
	want(t, f,
		"1000 worker 8 (c:A n=1 m=-2",
		"1500 worker 8 (c:x f=1.5 s=é\n b=true l=[1,2]",
		"1750 worker 8 )c:x",
		"2000 worker 8 .:i",
		"2000 nginx 7 .:I",
		"2001 nginx 7 #:ctr cats=4 dogs=1.5",
		"2001 nginx 7 #:ctr 2 cats=5",
		"3000 worker 8 )c:A",
		"4000 nginx 7 (n:req slice 1 r=1",
		"5000 nginx 7 (n:req slice 2",
		"5500 nginx 7 .n:req",
		"6000 nginx 7 )n:req slice 1",
		"7000 nginx 7 )n:req slice 2",
		"7000 nginx 7 (n:old slice 3",
		"7500 nginx 7 .n:old",
		"8000 nginx 7 )n:old slice 3",
		"9000 worker 8 .n:fl role 1",
		"10000 thread other .n:fl role 2",
		"11000 worker 8 .:obj",
		"12000 worker 8 (:open")
	wantWarnings := []string{
		`f: events left out: unknown phase (known are B, E, X, b, e, n, i, C, s, t, f, M) ('Q' at offset 1502)`,
		"f: events left out: no time, or one out of range (at offset 1551)",
		"f: slices that do not end", "f: ends of slices that did not begin, left out"}
	if !reflect.DeepEqual(warnings, wantWarnings) {
		t.Errorf("%q", warnings)
	}
	s := f.Events().Streams()
	if s[0].Kind != trace.Process || s[0].ID != 7 || s[1].Kind != trace.Thread || s[1].ID != 8 || s[1].Parent != 0 {
		t.Errorf("%+v", s)
	}
}

func TestStampsAreExactWhereverTheBaseStands(t *testing.T) {
	for _, text := range []string{
		`{"baseTimeNanoseconds":1743521598000000000,"traceEvents":[{"ph":"X","name":"a","ts":198093488368.463,"dur":425.453,"pid":1,"tid":1}]}`,
		`{"traceEvents":[{"ph":"X","name":"a","ts":198093488368.463,"dur":425.453,"pid":1,"tid":1}],"baseTimeNanoseconds":1743521598000000000}`,
		`{"traceEvents":[{"ph":"X","name":"a","ts":1743719691488368.463,"dur":4.25453e2,"pid":1,"tid":1}]}`,
		`{"traceEvents":[{"ph":"X","name":"a","ts":"198093488368.463","dur":425.453,"pid":1,"tid":1}],"viztracer_metadata":{"version":"1","baseTimeNanoseconds":1743521598000000000}}`,
	} {
		f, warnings, err := parse(text)
		if err != nil || len(warnings) > 0 {
			t.Fatal(err, warnings)
		}
		want(t, f, "1743719691488368463 thread 1 (:a", "1743719691488793916 thread 1 ):a")
	}
}

const three = `{"ph":"i","name":"a","ts":1,"pid":1,"tid":1},{"ph":"i","name":"b","ts":2,"pid":1,"tid":1},{"ph":"i","name":"c","ts":3,"pid":1,"tid":1}`

func TestArraysThatKilledTracersLeaveAreRead(t *testing.T) {
	for text, warned := range map[string]int{
		"[" + three + "]": 0, "[" + three: 0, "[\n" + three + ",\n": 0,
		`{"traceEvents":[` + three:                1,
		`{"traceEvents":[` + three + `],"a":`:     1,
		"[" + three + `,{"ph":"i","name":"d","ts`: 1,
	} {
		f, warnings, err := parse(text)
		if err != nil || len(warnings) != warned || len(lines(t, f)) != 3 {
			t.Errorf("%q: %v, %q", text, err, warnings)
		}
	}
}

func TestABrokenEventCostsItself(t *testing.T) {
	for _, b := range []string{`{"ph":"i","name":"b,"ts":2,"pid":1}`, `{"ph":"i""name":"b","ts":2,"pid":1}`, `{"ph":"i",name:"b","ts":2}`, `###`} {
		f, warnings, err := parse("[" + strings.Replace(three, `{"ph":"i","name":"b","ts":2,"pid":1,"tid":1}`, b, 1) + "]")
		if err != nil || len(warnings) != 1 {
			t.Errorf("%q: %v, %q", b, err, warnings)
			continue
		}
		want(t, f, "1000 thread 1 .:a", "3000 thread 1 .:c")
	}
}

func TestFlowsAreMarksOnlyWhereTheirOtherEndsAreElsewhere(t *testing.T) {
	flow := func(ph, name string, id, ts int) string {
		return fmt.Sprintf(`{"ph":%q,"cat":"c","name":%q,"id":%d,"ts":%d,"pid":1,"tid":1}`, ph, name, id, ts)
	}
	f, warnings, err := parse("[" + strings.Join([]string{
		flow("s", "rpc", 1, 1), flow("f", "rpc", 2, 2), flow("f", "rpc", 3, 3), // the other ends are elsewhere
		flow("s", "gpu", 1, 4), flow("f", "gpu", 1, 5), flow("s", "gpu", 2, 6), flow("f", "gpu", 2, 7), flow("s", "gpu", 3, 8), // the last is cut off
	}, ",") + "]")
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], `flows "gpu" of which the other end is missing`) {
		t.Fatal(err, warnings)
	}
	key := func(id string) trace.Key { return trace.KeyOf("flow", "c", "rpc", id) }
	wantMarks := []trace.Mark{{Time: 1000, Key: key("1"), Stream: 1, Role: trace.Sends}, {Time: 2000, Key: key("2"), Stream: 1, Role: trace.Receives},
		{Time: 3000, Key: key("3"), Stream: 1, Role: trace.Receives}}
	if got := f.Marks().Marks; !reflect.DeepEqual(got, wantMarks) {
		t.Errorf("got %v, want %v", got, wantMarks)
	}
	var w trace.Warnings
	other, err := read(strings.NewReader("["+flow("s", "gpu", 1, 4)+","+flow("f", "gpu", 1, 5)), "other", &w)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[uint64]int)
	for i, f := range []*File{f, other} {
		s := f.Events()
		for e := (trace.Event{}); s.Next(&e) == nil; {
			if s.Classes()[e.Class].Name == "gpu" {
				if n, known := seen[e.Flow]; known && n != i || e.Flow == 0 {
					t.Error("flows of two files have one number")
				}
				seen[e.Flow] = i
			}
		}
	}
	if len(seen) != 4 {
		t.Errorf("%d flows", len(seen))
	}
}

func TestFlowsThatEventsNameThemselvesAreMarksToo(t *testing.T) {
	event := func(ph, name, more string, ts int) string {
		return fmt.Sprintf(`{"ph":%q,"cat":%q,"name":%q,"ts":%d,"pid":1,"tid":1,%s}`, ph, "of "+name, name, ts, more)
	}
	f, warnings, err := parse("[" + strings.Join([]string{
		event("X", "call", `"dur":5,"bind_id":"0xa","flow_out":true`, 1),
		event("B", "serve", `"bind_id":"0xb","flow_in":true`, 2), event("E", "serve", `"bind_id":"0xc","flow_out":true`, 3),
		event("X", "pass", `"dur":1,"bind_id":"0xd","flow_in":true,"flow_out":true`, 4),
		event("X", "plain", `"dur":1,"bind_id":"0xe"`, 5), event("i", "tick", `"bind_id":"0xf","flow_out":true`, 6),
	}, ",") + "]")
	if err != nil || len(warnings) != 0 {
		t.Fatal(err, warnings)
	}
	key := func(id string) trace.Key { return trace.KeyOf("flow", "", "bind_id", id) }
	want := []trace.Mark{{Time: 1000, Key: key("0xa"), Stream: 1, Role: trace.Sends}, {Time: 2000, Key: key("0xb"), Stream: 1, Role: trace.Receives},
		{Time: 4000, Key: key("0xd"), Stream: 1, Role: trace.Receives}, {Time: 6000, Key: key("0xf"), Stream: 1, Role: trace.Sends}}
	if got := f.Marks().Marks; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// Within a file they join slices of different names.
	f, _, err = parse("[" + event("X", "call", `"dur":5,"bind_id":"0xa","flow_out":true`, 1) + "," + event("X", "serve", `"dur":1,"bind_id":"0xa","flow_in":true`, 3) + "]")
	if err != nil || len(f.Marks().Marks) != 0 {
		t.Fatal(err, f.Marks().Marks)
	}
	var roles []trace.Role
	flows := make(map[uint64]bool)
	s := f.Events()
	for e := (trace.Event{}); s.Next(&e) == nil; {
		if e.Phase == trace.Begin {
			roles = append(roles, e.Role)
			flows[e.Flow] = true
		}
	}
	if !slices.Equal(roles, []trace.Role{trace.Sends, trace.Receives}) || len(flows) != 1 || flows[0] {
		t.Errorf("roles %v, flows %v", roles, flows)
	}
}

func TestDamageAnywhereIsSurvived(t *testing.T) {
	text := `{"traceEvents":[` + three + `,` + kernel("ncclKernel_AllReduce", 5, comms("allreduce", `, "Seq": 7`)) + `],"baseTimeNanoseconds":17,"distributedInfo":{"rank":0,"world_size":2}}`
	for i := range text {
		for _, text := range []string{text[:i], text[:i] + string(text[i]^1) + text[i+1:], text[:i] + `"` + text[i+1:]} {
			Recognises([]byte(text))
			if f, _, err := parse(text); err == nil {
				lines(t, f)
			}
		}
	}
}

func TestOtherFilesAreNotRecognised(t *testing.T) {
	for _, text := range []string{"[" + three, `{"traceEvents":[]`, `{"schemaVersion":1,"deviceProperties":[{`, "\ufeff [ " + three, `{"otherData":{},"traceEvents"  : []}`} {
		if !Recognises([]byte(text)) {
			t.Errorf("%q is not recognised", text)
		}
	}
	for _, text := range []string{"", "{}", "[]", "[1,2]", `{"data":[{"traceID":"x","spans":[]}]}`, `{"resourceSpans":[]}`, "web db 1 2\n", "[web] db 1 2"} {
		if Recognises([]byte(text)) {
			t.Errorf("%q is recognised", text)
		}
	}
}

func TestReadOpensFilesPlainAndCompressed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json.gz")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte("[" + three + "]"))
	z.Close()
	cut := bytes.Clone(b.Bytes())[:b.Len()-6]
	for i, x := range []struct {
		data []byte
		good bool
	}{{b.Bytes(), true}, {cut, true}, {nil, false}, {[]byte("{}"), false}, {[]byte("web db 1 2"), false}} {
		if err := os.WriteFile(path, x.data, 0o600); err != nil {
			t.Fatal(err)
		}
		var w trace.Warnings
		f, err := Read(path, &w)
		if (err == nil) != x.good || err != nil && !strings.HasPrefix(err.Error(), path+": ") || err == nil && f.Marks().File != path {
			t.Errorf("%d: %v", i, err)
		}
		if damaged := i == 1; damaged != (len(w.Lines()) == 1) {
			t.Errorf("%d: %q", i, w.Lines())
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("[" + three))
	f.Add([]byte(`{"traceEvents":[` + rankFile(0, 1) + `],"distributedInfo":{"rank":0}}`))
	f.Add([]byte(`{"traceEvents":[{"ph":"b","cat":"x","id2":{"local":"0x1"},"ts":1e3},{"ph":"e","cat":"x","id2":{"local":"0x1"},"ts":2}]}`))
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		Recognises(data)
		var w trace.Warnings
		if file, err := read(bytes.NewReader(data), "f", &w); err == nil {
			lines(t, file)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var text bytes.Buffer
	text.WriteString(`{"traceEvents":[`)
	for i := range 100_000 {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::op%d", "pid": 1147039, "tid": 1147039,
    "ts": %d.463, "dur": 4.453,
    "args": {
      "External id": %d,"Sequence number": %d, "Fwd thread id": 0, "Record function id": 0, "Ev Idx": %d
    }
  }`, i%50, 198093488368+i*5, i, i, i)
	}
	text.WriteString("]}")
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		var w trace.Warnings
		if _, err := read(bytes.NewReader(text.Bytes()), "f", &w); err != nil {
			b.Fatal(err)
		}
	}
}
