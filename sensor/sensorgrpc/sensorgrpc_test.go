package sensorgrpc

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"meridian/sensor"
	"meridian/sensor/internal/testrand"
	"meridian/sensor/internal/testtrace"
)

// during records what happens while a function runs.
func during(t *testing.T, what func()) testtrace.Events {
	t.Helper()
	return testtrace.During(t, func(dir string) (func() error, error) {
		return sensor.Record(dir, sensor.Options{Dir: t.TempDir()})
	}, what)
}

// wanted says how many whole messages there are of each name, and nothing else.
type wanted struct{ request, reply, message int }

func (w wanted) check(t *testing.T, all testtrace.Events) {
	t.Helper()
	for name, n := range map[string]int{"request": w.request, "reply": w.reply, "message": w.message} {
		if got := all.Messages("grpc", name); got != (testtrace.Tally{Whole: n}) {
			t.Errorf("%s: %+v, want %d whole ones", name, got, n)
		}
	}
	for _, side := range []string{"call", "serve"} {
		begun, ended := all.Of("grpc", side, testtrace.Begin), all.Of("grpc", side, testtrace.End)
		if len(begun) != w.request || len(ended) != w.request {
			t.Errorf("%d slices %s begin and %d end, want %d", len(begun), side, len(ended), w.request)
		}
	}
}

// codesOf returns with which codes slices ended.
func codesOf(all testtrace.Events, side string) (codes []string) {
	for _, e := range all.Of("grpc", side, testtrace.Instant) {
		codes = append(codes, e.Text("code"))
	}
	return codes
}

func one(ctx context.Context, conn *grpc.ClientConn, n int64, options ...grpc.CallOption) (int64, error) {
	var reply number
	err := conn.Invoke(ctx, "/"+service+"/One", of(n), &reply, options...)
	return reply.GetValue(), err
}

func TestAUnaryCallIsTwoMessagesAndASliceOnBothSides(t *testing.T) {
	_, conn := start(t, ourServer, ourClient)
	const each, at = 20, 5
	all := during(t, func() {
		var done sync.WaitGroup
		for range at {
			done.Add(1)
			go func() {
				defer done.Done()
				for i := range int64(each) {
					if got, err := one(t.Context(), conn, i); got != 2*i || err != nil {
						t.Errorf("%d: %d, %v", i, got, err)
					}
				}
			}()
		}
		done.Wait()
	})
	wanted{each * at, each * at, 0}.check(t, all)
	for _, e := range append(all.Of("grpc", "call", testtrace.Begin), all.Of("grpc", "serve", testtrace.Begin)...) {
		if e.Text("method") != "/"+service+"/One" {
			t.Fatalf("%s: %v", e.Name, e.Values)
		}
	}
}

func TestAnErrorIsAReplyTooAndItsCodeIsNoted(t *testing.T) {
	_, conn := start(t, ourServer, ourClient)
	all := during(t, func() {
		if _, err := one(t.Context(), conn, -1); status.Code(err) != codes.OutOfRange {
			t.Error(err)
		}
		s := openStream(t, t.Context(), conn, &upDesc)
		sendAll(t, s, -1)
		if _, err := receiveAll(s); status.Code(err) != codes.OutOfRange {
			t.Error(err)
		}
	})
	wanted{2, 2, 1}.check(t, all)
	for _, side := range []string{"called", "served"} {
		if got := codesOf(all, side); !slices.Equal(got, []string{"11", "11"}) {
			t.Errorf("%s: %v", side, got)
		}
	}
}

func TestTheMessagesOfAStreamArePairedByTheirNumber(t *testing.T) {
	_, conn := start(t, ourServer, ourClient)
	for _, test := range []struct {
		desc *grpc.StreamDesc
		send []int64
		got  []int64
		want wanted
	}{
		{&downDesc, []int64{3}, []int64{0, 1, 2}, wanted{1, 1, 1 + 3}},
		{&downDesc, []int64{0}, nil, wanted{1, 1, 1}},
		{&upDesc, []int64{1, 2, 3, 4}, []int64{10}, wanted{1, 1, 4 + 1}},
		{&bothDesc, []int64{5, 6, 7}, []int64{5, 6, 7}, wanted{1, 1, 3 + 3}},
		{&bothDesc, nil, nil, wanted{1, 1, 0}},
	} {
		t.Run(test.desc.StreamName, func(t *testing.T) {
			all := during(t, func() {
				s := openStream(t, t.Context(), conn, test.desc)
				sendAll(t, s, test.send...)
				if got, err := receiveAll(s); !slices.Equal(got, test.got) || err != nil {
					t.Errorf("received %v, %v", got, err)
				}
			})
			test.want.check(t, all)
		})
	}
}

// A generated client calls RecvMsg once where the server sends one message.
func TestTheEndOfAStreamOfOneReplyIsSeenWithThatReply(t *testing.T) {
	_, conn := start(t, ourServer, ourClient)
	all := during(t, func() {
		s := openStream(t, t.Context(), conn, &upDesc)
		sendAll(t, s, 1, 2)
		var sum number
		if err := s.RecvMsg(&sum); err != nil || sum.GetValue() != 3 {
			t.Error(sum.GetValue(), err)
		}
	})
	wanted{1, 1, 3}.check(t, all)
}

func TestACancelledStreamHasNoReply(t *testing.T) {
	service, conn := start(t, ourServer, ourClient)
	all := during(t, func() {
		ctx, cancel := context.WithCancel(t.Context())
		s := openStream(t, ctx, conn, &holdDesc)
		sendAll(t, s, 1)
		cancel()
		if _, err := receiveAll(s); status.Code(err) != codes.Canceled {
			t.Error(err)
		}
	})
	close(service.held)
	if n := all.Messages("grpc", "reply"); n.Whole+n.Unsaid > 0 {
		t.Errorf("%+v", n)
	}
	if begun, over := all.Of("grpc", "call", testtrace.Begin), all.Of("grpc", "call", testtrace.End); len(begun) != 1 || len(over) != 1 {
		t.Errorf("%d slices begun, %d ended", len(begun), len(over))
	}
}

func TestNothingIsSentOrMarkedWhenSwitchedOff(t *testing.T) {
	service, conn := start(t, ourServer, ourClient)
	call := func(when string) {
		var trailer metadata.MD
		if _, err := one(t.Context(), conn, 1, grpc.Trailer(&trailer)); err != nil {
			t.Error(err)
		}
		if len(service.seen()[Key])+len(trailer[Key]) > 0 {
			t.Errorf("%s: %v, %v", when, service.seen(), trailer)
		}
		s := openStream(t, t.Context(), conn, &bothDesc)
		sendAll(t, s, 1)
		if _, err := receiveAll(s); err != nil {
			t.Error(err)
		}
		if len(service.seen()[Key])+len(s.Trailer()[Key]) > 0 {
			t.Errorf("%s: stream %v, %v", when, service.seen(), s.Trailer())
		}
	}
	call("not started")
	all := during(t, func() {
		sensor.Disable("grpc")
		defer sensor.Enable("grpc")
		call("switched off")
	})
	for _, e := range all {
		if e.Category == "grpc" {
			t.Errorf("event %s", e.Name)
		}
	}
}

// Either side may be without interceptors: its peer then has marks of its own requests alone.
func TestASideWithoutInterceptorsSeesNothingAndNothingIsReceivedThatNobodySent(t *testing.T) {
	for name, test := range map[string]struct {
		server []grpc.ServerOption
		client []grpc.DialOption
		sent   int
	}{
		"client": {nil, ourClient, 2},
		"server": {ourServer, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, conn := start(t, test.server, test.client)
			all := during(t, func() {
				var trailer metadata.MD
				if _, err := one(t.Context(), conn, 1, grpc.Trailer(&trailer)); err != nil || len(trailer[Key]) > 0 {
					t.Error(err, trailer)
				}
				s := openStream(t, t.Context(), conn, &bothDesc)
				sendAll(t, s, 1, 2)
				if _, err := receiveAll(s); err != nil || len(s.Trailer()[Key]) > 0 {
					t.Error(err, s.Trailer())
				}
			})
			if got := all.Messages("grpc", "request"); got != (testtrace.Tally{Unheard: test.sent}) {
				t.Errorf("requests %+v", got)
			}
			if got := all.Messages("grpc", "reply"); got != (testtrace.Tally{}) {
				t.Errorf("replies %+v", got)
			}
			if got := all.Messages("grpc", "message"); got.Whole+got.Unsaid > 0 {
				t.Errorf("messages %+v", got)
			}
		})
	}
}

func TestOtherMetadataGoesThrough(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	service, conn := start(t, ourServer, ourClient)
	during(t, func() {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", parent)
		if _, err := one(ctx, conn, 1); err != nil {
			t.Error(err)
		}
	})
	if got := service.seen()["traceparent"]; !slices.Equal(got, []string{parent}) || len(service.seen()[Key]) != 1 {
		t.Errorf("%v", service.seen())
	}
}

func TestOfSeveralTagsTheLastIsTheSenders(t *testing.T) {
	mine, others := sensor.NewTag(), sensor.NewTag()
	if got, ok := last([]string{others.String(), mine.String()}); got != mine || !ok {
		t.Error(got, ok)
	}
	for _, bad := range [][]string{nil, {"gibberish"}, {mine.String(), ""}} {
		if got, ok := last(bad); ok {
			t.Error(bad, got)
		}
	}
}

func TestNumbersOfMessagesAreNotThoseOfOthers(t *testing.T) {
	testrand.Check(t, func(t *testing.T, r *rand.Rand) {
		tag := sensor.Tag{Process: 1 + r.Uint64N(1<<63), Count: 1 + r.Uint64N(1<<40)}
		known := map[uint64]bool{0: true, tag.ID(): true}
		for range 3 { // this stream's, and those of the streams after it
			for n := range uint64(100) {
				id := numbered(tag, n+1)
				if known[id] {
					t.Fatalf("%v: message %d has the number %x of another", tag, n+1, id)
				}
				known[id] = true
			}
			tag.Count++
		}
	})
}

func BenchmarkUnary(b *testing.B) {
	for _, x := range []struct {
		name   string
		server []grpc.ServerOption
		client []grpc.DialOption
		on     bool
	}{{"plain", nil, nil, false}, {"off", ourServer, ourClient, false}, {"on", ourServer, ourClient, true}} {
		b.Run(x.name, func(b *testing.B) {
			_, conn := start(b, x.server, x.client)
			if x.on {
				if err := sensor.Start(sensor.Options{Dir: b.TempDir(), Overwrite: true}); err != nil {
					b.Fatal(err)
				}
				defer sensor.Stop()
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := one(b.Context(), conn, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
