// Jaegerskew shows what Jaeger's clock skew adjuster and Meridian make of the same spans, whose truth is known.
//
//	cd tools/testdata/jaegerskew && GOWORK=off go run . -meridian ../../../bin/meridian
//
// A front end calls a database eight times. The clock of the database is 30 ms ahead and 20 ppm fast. Requests take 0.2 to 0.4 ms each way, but for one request that waits 60 ms
// before it is served, and one reply that waits 60 ms. Both spans of a call go to Jaeger's adjuster as they were recorded, with a limit of 1 s, and to "meridian align".
// Jaeger's packages are used as published, which is why this is a module of its own: no test and no build of Meridian needs it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jaegertracing/jaeger/model"
	"github.com/jaegertracing/jaeger/model/adjuster"
)

// call is a call in true time, ns since 1970.
type call struct{ sent, begun, ended, done int64 }

// ahead is what the clock of the database shows at a true instant.
func ahead(at int64) int64 { return at + 30e6 + (at-origin)/50_000 }

const origin = 1_700_000_000_000_000_000

func calls() []call {
	var all []call
	random := rand.New(rand.NewPCG(1, 2))
	leg := func() int64 { return 200_000 + random.Int64N(200_000) }
	for i := range int64(8) {
		request, work, reply := leg(), 2_000_000+random.Int64N(1_000_000), leg()
		switch i {
		case 3:
			request += 60e6
		case 6:
			reply += 60e6
		}
		c := call{sent: origin + i*250e6}
		c.begun = c.sent + request
		c.ended = c.begun + work
		c.done = c.ended + reply
		all = append(all, c)
	}
	return all
}

// adjusted returns the beginning of the database's span as Jaeger's adjuster leaves it.
func adjusted(c call) (int64, []string) {
	host := func(address string) *model.Process {
		return model.NewProcess(address, []model.KeyValue{model.String("ip", address)})
	}
	trace := model.NewTraceID(0, 1)
	span := func(id uint64, from, to int64, p *model.Process) *model.Span {
		return &model.Span{TraceID: trace, SpanID: model.NewSpanID(id), StartTime: time.Unix(0, from), Duration: time.Duration(to - from), Process: p}
	}
	client, server := span(1, c.sent, c.done, host("10.0.0.1")), span(2, ahead(c.begun), ahead(c.ended), host("10.0.0.2"))
	server.References = []model.SpanRef{model.NewChildOfRef(trace, client.SpanID)}
	if _, err := adjuster.ClockSkew(time.Second).Adjust(&model.Trace{Spans: []*model.Span{client, server}}); err != nil {
		log.Fatal(err)
	}
	return server.StartTime.UnixNano(), server.Warnings
}

// placed is where Meridian places the beginning of a span, with its interval.
type placed struct{ at, low, high int64 }

type (
	value     map[string]any
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
)

// aligned returns where Meridian places the database's spans, by their number.
func aligned(meridian string, all []call) map[string]placed {
	dir, err := os.MkdirTemp("", "jaegerskew-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	text := func(v string) value { return value{"stringValue": v} }
	resource := func(host string, spans []any) any {
		return value{"resource": value{"attributes": []attribute{{"host.name", text(host)}, {"service.name", text(host)}}}, "scopeSpans": []any{value{"spans": spans}}}
	}
	var front, database []any
	for i, c := range all {
		span := func(id, parent string, kind int, from, to int64) any {
			return value{"traceId": fmt.Sprintf("%032x", i+1), "spanId": id, "parentSpanId": parent, "name": "call", "kind": kind,
				"startTimeUnixNano": fmt.Sprint(from), "endTimeUnixNano": fmt.Sprint(to)}
		}
		client, server := fmt.Sprintf("%016x", 2*i+1), fmt.Sprintf("%016x", 2*i+2)
		front = append(front, span(client, "", 3, c.sent, c.done))
		database = append(database, span(server, client, 2, ahead(c.begun), ahead(c.ended)))
	}
	b, err := json.Marshal(value{"resourceSpans": []any{resource("web", front), resource("db", database)}})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "spans.json"), b, 0o600)
	}
	if err != nil {
		log.Fatal(err)
	}
	out := filepath.Join(dir, "corrected.otlp.json")
	c := exec.Command(meridian, "align", "-q", filepath.Join(dir, "spans.json"), "--reference", "web", "-o", out)
	if said, err := c.CombinedOutput(); err != nil {
		log.Fatalf("%v: %v\n%s", c.Args, err, said)
	}
	return read(out)
}

// read returns the spans of corrected OTLP.
func read(path string) map[string]placed {
	b, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	var file struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct {
					SpanID            string
					StartTimeUnixNano string
					Attributes        []attribute
				}
			}
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		log.Fatal(err)
	}
	number := func(v any) int64 {
		n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
		if err != nil {
			log.Fatal(err)
		}
		return n
	}
	all := map[string]placed{}
	for _, r := range file.ResourceSpans {
		for _, s := range r.ScopeSpans {
			for _, x := range s.Spans {
				p := placed{at: number(x.StartTimeUnixNano)}
				for _, a := range x.Attributes {
					switch a.Key {
					case "meridian.begin.low_ns":
						p.low = number(a.Value["intValue"])
					case "meridian.begin.high_ns":
						p.high = number(a.Value["intValue"])
					}
				}
				all[x.SpanID] = p
			}
		}
	}
	return all
}

func main() {
	meridian := flag.String("meridian", "meridian", "the command")
	flag.Parse()
	all := calls()
	ours := aligned(*meridian, all)
	fmt.Println("begin of the database's span after the call's, ms: truth, as recorded, Jaeger (its error), Meridian (its error) [its interval]")
	for i, c := range all {
		ms := func(at int64) float64 { return float64(at-c.sent) / 1e6 }
		jaeger, said := adjusted(c)
		p, ok := ours[fmt.Sprintf("%016x", 2*i+2)]
		if !ok {
			log.Fatalf("call %d is missing", i+1)
		}
		inside := "holds"
		if c.begun < p.low || c.begun > p.high {
			inside = "WRONG"
		}
		fmt.Printf("%d  %7.3f  %8.3f  %8.3f (%+8.3f)  %8.3f (%+6.3f) [%7.3f, %7.3f] %s  %q\n", i+1, ms(c.begun), ms(ahead(c.begun)), ms(jaeger), ms(jaeger)-ms(c.begun),
			ms(p.at), ms(p.at)-ms(c.begun), ms(p.low), ms(p.high), inside, said)
	}
}
