package main

import (
	"context"
	"io"
	rtrace "runtime/trace"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
)

// executionTrace is the user log of Go's own execution tracer. The tracer runs for its own samples alone: it would
// slow all contenders.
func (b *bench) executionTrace() error {
	file, err := b.file("gotrace")
	if err != nil {
		return err
	}
	ctx := context.Background()
	for _, x := range []struct {
		name, keeps string
		w           io.Writer
		note        func(int64)
	}{
		{"runtime/trace.Log, fixed text", "time and one text", file, func(int64) { rtrace.Log(ctx, "bench", "six") }},
		{"runtime/trace.Logf, six integers", "all, as text", file, func(i int64) {
			rtrace.Logf(ctx, "bench", "%d %d %d %d %d %d", i, i+1, i+2, i+3, i+4, i+5)
		}},
	} {
		b.other(x.name, x.keeps, func(n int) (time.Duration, error) {
			if err := rtrace.Start(x.w); err != nil {
				return 0, err
			}
			defer func() {
				rtrace.Stop()
				_, _ = file.Seek(0, io.SeekStart) // the next trace in its place
			}()
			return timed(x.note)(n)
		})
	}
	b.other("runtime/trace.Log, not tracing", "", timed(func(int64) { rtrace.Log(ctx, "bench", "six") }))
	return nil
}

// openTelemetry is a span with six attributes, its end and its start, through the SDK's batches. Its exporter keeps what
// it got until the next batch comes; the batcher waits for it, since it would otherwise throw away what comes too fast.
func (b *bench) openTelemetry() error {
	var last keepLast
	provider := trace.NewTracerProvider(trace.WithBatcher(&last, trace.WithBlocking()))
	b.closing = append(b.closing, func() error { return provider.Shutdown(context.Background()) })
	b.other("OpenTelemetry span, batched", "all, as objects", timed(func(i int64) { span(provider.Tracer("bench"), i) }))
	none := trace.NewTracerProvider(trace.WithSampler(trace.NeverSample()))
	b.other("OpenTelemetry span, not sampled", "", timed(func(i int64) { span(none.Tracer("bench"), i) }))
	return nil
}

func span(t oteltrace.Tracer, i int64) {
	_, s := t.Start(context.Background(), "six", oteltrace.WithAttributes(
		attribute.Int64("a", i), attribute.Int64("b", i+1), attribute.Int64("c", i+2),
		attribute.Int64("d", i+3), attribute.Int64("e", i+4), attribute.Int64("f", i+5)))
	s.End()
}

type keepLast struct{ spans []trace.ReadOnlySpan }

func (k *keepLast) ExportSpans(_ context.Context, spans []trace.ReadOnlySpan) error {
	k.spans = append(k.spans[:0], spans...)
	return nil
}

func (k *keepLast) Shutdown(context.Context) error { return nil }
