package jaeger

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"meridian/internal/eventtest"
	"meridian/internal/testseed"
	"meridian/trace"
)

// answer is what Jaeger's API answers for a request between two services, with the members and the order that it has.
const answer = `{"data":[{"traceID":"5b8efff798038103d269b633813fc60c","spans":[
{"traceID":"5b8efff798038103d269b633813fc60c","spanID":"eee19b7ec3c1b173","operationName":"HTTP GET","references":[],"startTime":1729181197748657,"duration":1503,
 "tags":[{"key":"span.kind","type":"string","value":"client"},{"key":"http.status_code","type":"int64","value":200},{"key":"sampler.param","type":"float64","value":0.5},{"key":"cached","type":"bool","value":false}],
 "logs":[{"timestamp":1729181197748700,"fields":[{"key":"event","type":"string","value":"sent"},{"key":"bytes","type":"int64","value":"7"}]}],"processID":"p1","warnings":null},
{"traceID":"5b8efff798038103d269b633813fc60c","spanID":"eee19b7ec3c1b174","operationName":"/api","references":[{"refType":"CHILD_OF","traceID":"5b8efff798038103d269b633813fc60c","spanID":"eee19b7ec3c1b173"}],"startTime":1729181197749000,"duration":1000,
 "tags":[{"key":"span.kind","type":"string","value":"server"},{"key":"otel.scope.name","type":"string","value":"lib"}],"logs":[],"processID":"p2","warnings":["invalid parent span IDs=eee19b7ec3c1b173; skipping clock skew adjustment"]}
],"processes":{"p1":{"serviceName":"front","tags":[{"key":"hostname","type":"string","value":"a"},{"key":"ip","type":"string","value":"10.0.0.1"}]},
"p2":{"serviceName":"back","tags":[{"key":"ip","type":"string","value":"10.0.0.2"},{"key":"process.pid","type":"int64","value":"12"}]}},"warnings":null}],"total":0,"limit":0,"offset":0,"errors":null}`

func parse(text string) (*File, []string, error) {
	var w trace.Warnings
	f, err := read(strings.NewReader(text), "f", Options{}, &w)
	return f, w.Lines(), err
}

func events(t *testing.T, f *File) (lines []string) {
	s := f.Events()
	for e := range eventtest.All(t, s) {
		row, class := s.Streams()[e.Stream], s.Classes()[e.Class]
		b := fmt.Appendf(nil, "%d %s/%s %d %c%s:%s", e.Time, row.Host, row.Name, row.ID, ".()#"[e.Phase], class.Category, class.Name)
		for i, v := range s.Values() {
			if v.Kind != trace.None && !strings.HasSuffix(class.Fields[i].Name, "_id") {
				b = v.Append(fmt.Appendf(b, " %s=%s:", class.Fields[i].Name, v.Kind), &class.Fields[i].Type)
			}
		}
		lines = append(lines, string(b))
	}
	return lines
}

func TestAnAnswerOfTheAPIIsRowsAndMessages(t *testing.T) {
	f, warnings, err := parse(answer)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	want := []string{
		"1729181197748657000 a/front 0 (:HTTP GET span.kind=text:client http.status_code=int:200 sampler.param=float:0.5 cached=bool:false",
		"1729181197748700000 a/front 0 .:sent bytes=int:7",
		"1729181197749000000 10.0.0.2/back 12 (lib:/api span.kind=text:server otel.scope.name=text:lib",
		"1729181197750000000 10.0.0.2/back 12 )lib:/api",
		"1729181197750160000 a/front 0 ):HTTP GET",
	}
	if got := events(t, f); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	key := func(what string) trace.Key {
		return trace.KeyOf("span", "\x5b\x8e\xff\xf7\x98\x03\x81\x03\xd2\x69\xb6\x33\x81\x3f\xc6\x0c", "\xee\xe1\x9b\x7e\xc3\xc1\xb1\x73", what)
	}
	marks := &trace.Marks{File: "f", Hosts: []string{"a", "10.0.0.2"}, Marks: []trace.Mark{
		{Time: 1729181197748657000, Key: key("request"), Role: trace.Sends},
		{Time: 1729181197750161000, Key: key("reply"), Role: trace.Receives},
		{Time: 1729181197749000000, Key: key("request"), Host: 1, Stream: 1, Role: trace.Receives},
		{Time: 1729181197750000000, Key: key("reply"), Host: 1, Stream: 1, Role: trace.Sends},
	}, Granularity: 1000}
	got := *f.Marks()
	if len(got.Spans) != 2 || got.Spans[0].End != 1729181197750161000 || got.Spans[1].Parent != got.Spans[0].ID || got.Spans[1].Kind != trace.ServerSpan {
		t.Errorf("spans %+v", got.Spans)
	}
	if r := got.Resources; len(r) != 2 || r[0].NamedBy != "hostname" || r[1].NamedBy != "ip" || r[1].Service != "back" || r[1].Attributes["process.pid"] != "12" {
		t.Errorf("resources %+v", r)
	}
	got.Spans, got.Resources = nil, nil
	if !reflect.DeepEqual(&got, marks) {
		t.Errorf("got %+v, want %+v", got, marks)
	}
}

func TestATraceAloneAndAnArrayOfThemAreReadAlike(t *testing.T) {
	f, _, err := parse(answer)
	if err != nil {
		t.Fatal(err)
	}
	want := events(t, f)
	one := answer[len(`{"data":[`):strings.LastIndex(answer, `],"total"`)]
	for _, text := range []string{one, "[" + one + "]", "[" + one} {
		if !Recognises([]byte(text)) {
			t.Errorf("not recognised: %.50s", text)
		}
		f, _, err := parse(text)
		if err != nil {
			t.Errorf("%v: %.50s", err, text)
		} else if got := events(t, f); !reflect.DeepEqual(got, want) || len(f.Marks().Marks) != 4 {
			t.Errorf("got %q", got)
		}
	}
}

func TestKindsAndReferences(t *testing.T) {
	span := func(more string) string {
		return `{"data":[{"traceID":"01","spans":[{"traceID":"01","spanID":"2","startTime":5,"duration":3,` + more + `}],"processes":{}}]}`
	}
	tag := func(k, v string) string { return `"tags":[{"key":"` + k + `","type":"string","value":"` + v + `"}]` }
	for _, x := range []struct {
		name, text string
		want       string // times and roles
	}{
		{"client", span(tag("span.kind", "client")), "5000:1 9000:2"},
		{"failed client", span(`"tags":[{"key":"span.kind","value":"client"},{"key":"error","type":"bool","value":true}]`), "5000:1"},
		{"failed client of OpenTelemetry", span(`"tags":[{"key":"span.kind","value":"client"},{"key":"otel.status_code","value":"ERROR"}]`), "5000:1"},
		{"server without a parent", span(tag("span.kind", "server")), ""},
		{"server", span(`"references":[{"refType":"CHILD_OF","traceID":"01","spanID":"3"}],` + tag("span.kind", "server")), "5000:2 8000:1"},
		{"server of old", span(`"parentSpanID":"3",` + tag("span.kind", "server")), "5000:2 8000:1"},
		{"producer", span(tag("span.kind", "producer")), "5000:1"},
		{"consumer", span(`"references":[{"refType":"FOLLOWS_FROM","traceID":"01","spanID":"3"}],` + tag("span.kind", "consumer")), "9000:2"},
		{"none", span(`"references":[{"refType":"CHILD_OF","traceID":"01","spanID":"3"}]`), ""},
	} {
		f, _, err := parse(x.text)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		got := ""
		for _, m := range f.Marks().Marks {
			got += fmt.Sprintf(" %d:%d", m.Time, m.Role)
		}
		if strings.TrimSpace(got) != x.want {
			t.Errorf("%s: got %q, want %q", x.name, got, x.want)
		}
	}
}

func TestTheHostIsTheBestNameThatTheProcessHas(t *testing.T) {
	names := []string{"host.name", "hostname", "k8s.pod.name", "host.id", "ip", "service.instance.id", "serviceName"}
	for i := range names {
		list := ""
		for j := len(names) - 2; j >= i; j-- {
			list += `,{"key":"` + names[j] + `","type":"string","value":"` + names[j] + `!"}`
		}
		f, _, err := parse(`{"data":[{"spans":[{"traceID":"1","spanID":"2","startTime":5,"duration":3,"processID":"p"}],"processes":{"p":{"serviceName":"serviceName!","tags":[` +
			strings.TrimPrefix(list, ",") + `]}}}]}`)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Marks().Hosts; len(got) != 1 || got[0] != names[i]+"!" {
			t.Errorf("%v: %q", names[i:], got)
		}
	}
}

func TestWhatJaegerMovedIsSaid(t *testing.T) {
	for text, want := range map[string]bool{
		"clock skew adjustment disabled; not applying calculated delta of 2ms":             false,
		"duplicate span IDs; skipping clock skew adjustment":                               false,
		"max clock skew adjustment delta of 1s exceeded; not applying calculated delta 5s": false,
		"this span's timestamps were adjusted by 2ms":                                      true,
	} {
		f, warnings, err := parse(strings.Replace(answer, `"warnings":null}`, `"warnings":["`+text+`"]}`, 1))
		if err != nil || f == nil || (len(warnings) == 1) != want {
			t.Errorf("%q: %q, %v", text, warnings, err)
		}
	}
}

func TestDamageAnywhereIsSurvived(t *testing.T) {
	for i := range answer {
		for _, text := range []string{answer[:i], answer[:i] + string(answer[i]^1) + answer[i+1:], answer[:i] + `"` + answer[i+1:]} {
			Recognises([]byte(text))
			if f, _, err := parse(text); err == nil {
				events(t, f)
			}
		}
	}
	f, warnings, err := parse(answer[:strings.Index(answer, `,"processes"`)])
	if err != nil || len(f.Marks().Marks) != 4 || len(warnings) != 1 {
		t.Errorf("cut behind the spans: %v, %q", err, warnings)
	}
}

func TestOtherFilesAreNotRecognised(t *testing.T) {
	if !Recognises([]byte(answer)) || !Recognises([]byte(answer)[:400]) {
		t.Error("an answer is not recognised")
	}
	for _, text := range []string{"", "{}", `{"traceEvents":[]}`, `{"data":[{"id":"x"}]}`, `{"resourceSpans":[]}`, "web db 1 2\n"} {
		if Recognises([]byte(text)) {
			t.Errorf("%q", text)
		}
	}
}

func TestReadOpensFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.json")
	var w trace.Warnings
	for _, x := range []struct {
		text string
		good bool
	}{{answer, true}, {"", false}, {"{}", false}, {`{"data":[]}`, false}, {"web", false}} {
		if err := os.WriteFile(path, []byte(x.text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Read(path, &w)
		if (err == nil) != x.good || err != nil && !strings.HasPrefix(err.Error(), path+": ") || err == nil && f.Marks().File != path {
			t.Errorf("%.20q: %v", x.text, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(answer))
	f.Add([]byte(`[{"spans":[{"startTime":1.5,"logs":[{"timestamp":2}]}]}]`))
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		Recognises(data)
		var w trace.Warnings
		if file, err := read(bytes.NewReader(data), "f", Options{}, &w); err == nil {
			events(t, file)
			rewritten(t, data)
		}
	})
}
