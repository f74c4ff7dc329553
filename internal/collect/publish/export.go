package publish

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// ExporterOptions say where spans go. Only URL is required.
type ExporterOptions struct {
	URL    string        // of a collector; /v1/traces is added where it has no path
	Queue  int           // spans that wait at most; 0 for 65536
	Batch  int           // spans of a request at most; 0 for 512
	Every  time.Duration // how long spans wait for others; 0 for a second
	Retry  time.Duration // the first pause before a request is repeated, which doubles up to 30 s; 0 for a second
	Client *http.Client
	Log    func(format string, args ...any)
}

// Exporter sends spans to a collector by OTLP over HTTP. Whoever adds spans never waits: what the queue has no room for is dropped and counted. A
// request that the collector cannot take now is repeated, as the protocol has it: for 429, 502, 503, 504, and where there is no answer.
type Exporter struct {
	o     ExporterOptions
	words chan struct{}

	mu    sync.Mutex
	queue []hostSpan
	stats ExporterStats
	told  time.Time
}

// ExporterStats counts spans.
type ExporterStats struct {
	Exported, Dropped uint64
	Queued            int
}

// hostSpan is a span and where it was.
type hostSpan struct {
	host, session, row string
	span               *v1.Span
}

// NewExporter returns an exporter that sends nothing until it is run.
func NewExporter(o ExporterOptions) *Exporter {
	if o.Queue == 0 {
		o.Queue = 1 << 16
	}
	if o.Batch == 0 {
		o.Batch = 512
	}
	if o.Every == 0 {
		o.Every = time.Second
	}
	if o.Retry == 0 {
		o.Retry = time.Second
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: 10 * time.Second}
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if _, rest, _ := strings.Cut(o.URL, "://"); !strings.Contains(strings.TrimSuffix(rest, "/"), "/") {
		o.URL = strings.TrimSuffix(o.URL, "/") + "/v1/traces"
	}
	return &Exporter{o: o, words: make(chan struct{}, 1)}
}

// Stats returns the counts so far.
func (e *Exporter) Stats() ExporterStats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats
	s.Queued = len(e.queue)
	return s
}

// add queues a span.
func (e *Exporter) add(s hostSpan) {
	e.mu.Lock()
	full := len(e.queue) >= e.o.Queue
	if full {
		e.drop(1, "the queue is full")
	} else {
		e.queue = append(e.queue, s)
	}
	enough := len(e.queue) >= e.o.Batch
	e.mu.Unlock()
	if enough {
		select {
		case e.words <- struct{}{}:
		default:
		}
	}
}

// drop counts spans that are not exported, and says so at most every ten seconds. The lock is held.
func (e *Exporter) drop(n int, why string) {
	e.stats.Dropped += uint64(n)
	if time.Since(e.told) > tellEvery {
		e.told = time.Now()
		e.o.Log("OTLP: %d spans are dropped so far: %s", e.stats.Dropped, why)
	}
}

// tellEvery is how often dropped spans are told.
const tellEvery = 10 * time.Second

// Run sends until ctx ends, and then once what is queued.
func (e *Exporter) Run(ctx context.Context) error {
	tick := time.NewTicker(e.o.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWithin)
			defer cancel()
			for e.send(last) {
			}
			return nil
		case <-tick.C:
		case <-e.words:
		}
		for ctx.Err() == nil && e.send(ctx) {
		}
	}
}

// lastWithin is how long the end may take.
const lastWithin = 3 * time.Second

// send sends a batch, as often as that takes. False: there is none.
func (e *Exporter) send(ctx context.Context) bool {
	e.mu.Lock()
	n := min(len(e.queue), e.o.Batch)
	batch := append([]hostSpan(nil), e.queue[:n]...)
	e.mu.Unlock()
	if n == 0 {
		return false
	}
	body, err := request(batch)
	for pause := e.o.Retry; err == nil; pause = min(2*pause, maxRetry) {
		var after time.Duration
		if after, err = e.post(ctx, body, n); !errors.Is(err, errAgain) {
			break
		}
		e.tell(err)
		err = nil
		select {
		case <-ctx.Done():
			return false // what is queued stays there for the last attempt
		case <-time.After(max(pause, min(after, maxRetry))):
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = append(e.queue[:0], e.queue[n:]...)
	if err != nil {
		e.drop(n, err.Error())
	}
	return true
}

// maxRetry is the longest pause before a request is repeated.
const maxRetry = 30 * time.Second

func (e *Exporter) tell(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Since(e.told) > tellEvery {
		e.told = time.Now()
		e.o.Log("OTLP: %v", err)
	}
}

// errAgain is wrapped by the error of a request that is worth repeating.
var errAgain = errors.New("it is tried again")

// post sends a request of n spans, and counts what was accepted.
func (e *Exporter) post(ctx context.Context, body []byte, n int) (after time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.o.URL, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("Content-Encoding", "gzip")
	answer, err := e.o.Client.Do(r)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", err, errAgain)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	switch answer.StatusCode {
	case http.StatusOK:
		e.accepted(b, n)
		return 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 {
			after = time.Duration(seconds) * time.Second
		}
		return after, fmt.Errorf("%s: %s: %w", e.o.URL, answer.Status, errAgain)
	}
	return 0, fmt.Errorf("%s: %s: the spans are refused", e.o.URL, answer.Status)
}

// accepted counts the spans of a request that was answered. A collector may refuse some of them.
func (e *Exporter) accepted(answer []byte, n int) {
	spans, why := partialSuccess(answer)
	refused := int(min(spans, uint64(n)))
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stats.Exported += uint64(n - refused)
	if refused > 0 {
		e.drop(refused, "the collector refused them: "+why)
	}
}

// partialSuccess reads how many spans a collector refused, and why, from its ExportTraceServiceResponse:
//
//	message ExportTraceServiceResponse { ExportTracePartialSuccess partial_success = 1; }
//	message ExportTracePartialSuccess { int64 rejected_spans = 1; string error_message = 2; }
//
// The package that has these types needs all of gRPC's gateway.
func partialSuccess(b []byte) (refused uint64, why string) {
	message, _ := field(b, 1, protowire.BytesType)
	inner, _ := protowire.ConsumeBytes(message)
	if v, ok := field(inner, 1, protowire.VarintType); ok {
		refused, _ = protowire.ConsumeVarint(v)
	}
	if v, ok := field(inner, 2, protowire.BytesType); ok {
		why, _ = protowire.ConsumeString(v)
	}
	return refused, why
}

// field finds a field of a message; what returns begins with its value.
func field(b []byte, wanted protowire.Number, of protowire.Type) ([]byte, bool) {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			break
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			break
		}
		if number == wanted && kind == of {
			return b, true
		}
		b = b[n:]
	}
	return nil, false
}

// request returns the spans as the protocol has them, those of one row together.
func request(batch []hostSpan) ([]byte, error) {
	type origin struct{ host, session, row string }
	rows := make(map[origin]*v1.ResourceSpans)
	x := new(v1.TracesData) // on the wire the same as an ExportTraceServiceRequest
	for _, s := range batch {
		of := origin{s.host, s.session, s.row}
		r := rows[of]
		if r == nil {
			r = &v1.ResourceSpans{
				Resource: &resource.Resource{Attributes: []*common.KeyValue{
					textAttribute("service.name", s.row), textAttribute("host.name", s.host), textAttribute("meridian.session", s.session)}},
				ScopeSpans: []*v1.ScopeSpans{{Scope: &common.InstrumentationScope{Name: "meridian"}}},
			}
			rows[of] = r
			x.ResourceSpans = append(x.ResourceSpans, r)
		}
		r.ScopeSpans[0].Spans = append(r.ScopeSpans[0].Spans, s.span)
	}
	plain, err := proto.Marshal(x)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err = z.Write(plain)
	err = errors.Join(err, z.Close())
	return out.Bytes(), err
}

func textAttribute(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: strings.ToValidUTF8(value, "�")}}}
}
