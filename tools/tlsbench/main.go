//go:build linux

// Tlsbench measures what keys and TLS take of the collection of a trace, on loopback, acknowledged after fdatasync:
//
//	plain    agent --NATS--> broker --NATS--> server --> disk
//	tls      the same with TLS 1.3 and NKeys on both ways, as with 'meridian server --nats'
//	inside   TLS for the agent; the server's connection is within the broker's process, as in 'meridian server' with keys
//
//	go run ./tools/tlsbench [-mib 256] [-rounds 7] [-chunk 262144]
//
// The three alternate; what is printed are medians of their ratios to the plain run of the same round. Agent, broker and server run in this process: processor time
// is that of all. Nothing here is a test: other work on the machine may not break the build.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"

	"meridian/internal/collect"
	"meridian/internal/collect/broker"
	"meridian/internal/collect/ship"
	"meridian/internal/collect/store"
	"meridian/internal/collect/trust"
	"meridian/internal/collect/wire"
)

type bench struct {
	dir, trace string
	keys       *trust.Trust
	chunk      int64
	bytes      int64
}

// taken is what a run takes.
type taken struct{ elapsed, cpu time.Duration }

var variants = []string{"plain", "tls", "inside"}

func main() {
	var b bench
	mib := flag.Int64("mib", 256, "MiB of the trace")
	rounds := flag.Int("rounds", 7, "runs of each kind")
	flag.Int64Var(&b.chunk, "chunk", 256<<10, "bytes of a message")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx, *mib<<20, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "tlsbench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context, bytes int64, rounds int) (err error) {
	if b.dir, err = os.MkdirTemp("", "tlsbench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if err := b.prepare(bytes); err != nil {
		return err
	}
	runs := map[string][]taken{}
	for round := range rounds + 1 { // the first one warms up
		for i := range variants {
			v := variants[(round+i)%len(variants)]
			x, err := b.once(ctx, v)
			if err != nil {
				return fmt.Errorf("%s: %w", v, err)
			}
			if round > 0 {
				runs[v] = append(runs[v], x)
			}
		}
	}
	fmt.Printf("%d MiB in messages of %d KiB, %d rounds: medians\n\n| | MiB/s | of plain | processor time of plain |\n|---|---|---|---|\n", bytes>>20, b.chunk>>10, rounds)
	for _, v := range variants {
		var rate, speed, cpu []float64
		for i, x := range runs[v] {
			rate = append(rate, float64(b.bytes>>20)/x.elapsed.Seconds())
			speed = append(speed, runs["plain"][i].elapsed.Seconds()/x.elapsed.Seconds())
			cpu = append(cpu, x.cpu.Seconds()/runs["plain"][i].cpu.Seconds())
		}
		fmt.Printf("| %s | %.0f | %.2f (%.2f to %.2f) | %.2f (%.2f to %.2f) |\n", v, median(rate), median(speed), slices.Min(speed), slices.Max(speed), median(cpu), slices.Min(cpu), slices.Max(cpu))
	}
	return nil
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// prepare writes a trace and makes keys.
func (b *bench) prepare(bytes int64) (err error) {
	b.trace = filepath.Join(b.dir, "trace")
	if err := os.Mkdir(b.trace, 0o777); err != nil {
		return err
	}
	metadata := "/* CTF 1.8 */\ntrace { uuid = \"2a6422d0-6cee-11e0-8c08-cb07d7b3a564\"; };\n"
	if err := os.WriteFile(filepath.Join(b.trace, "metadata"), []byte(metadata), 0o666); err != nil {
		return err
	}
	const packetSize = 64 << 10
	packet := make([]byte, packetSize)
	for i := range packet {
		packet[i] = byte(i * i >> 3)
	}
	binary.LittleEndian.PutUint32(packet, 0xc1fc1fc1)
	binary.LittleEndian.PutUint64(packet[56:], packetSize*8)
	f, err := os.Create(filepath.Join(b.trace, "kernel_1_0"))
	if err != nil {
		return err
	}
	for ; b.bytes < bytes; b.bytes += packetSize {
		if _, err := f.Write(packet); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	if b.keys, err = trust.Init(b.dir, trust.Options{Names: []string{"127.0.0.1"}, Now: time.Now()}); err != nil {
		return err
	}
	return b.keys.Invite("web", nil, trust.NewFile(filepath.Join(b.dir, "invitation")))
}

// once collects the trace.
func (b *bench) once(ctx context.Context, variant string) (x taken, err error) {
	o := broker.Options{Listen: "127.0.0.1:0", Name: "bench"}
	if variant != "plain" {
		if o.Users, err = b.keys.Users(); err == nil {
			o.TLS, err = b.keys.TLS()
		}
		if err != nil {
			return x, err
		}
	}
	carrier, err := broker.Start(o)
	if err != nil {
		return x, err
	}
	defer carrier.Close()
	server, err := b.connect(carrier, variant, b.keys.ServerKey())
	if err != nil {
		return x, err
	}
	defer server.Close()
	agent, err := b.connect(carrier, variant, filepath.Join(b.dir, "invitation"), nats.CustomInboxPrefix(wire.OfHost("web", "inbox")))
	if err != nil {
		return x, err
	}
	defer agent.Close()
	dir := filepath.Join(b.dir, "stored")
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	kept, err := store.New(dir, store.OS{}, store.Limits{})
	if err != nil {
		return x, err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	s, err := collect.NewServer(collect.ServerOptions{Conn: wire.Over(server), Name: "bench", Store: kept})
	if err != nil {
		return x, err
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(serving) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	return b.ship(ctx, agent)
}

func (b *bench) ship(ctx context.Context, c *nats.Conn) (x taken, err error) {
	nothingMore := make(chan struct{})
	close(nothingMore)
	s, err := ship.New(ship.Options{Conn: wire.Over(c), Host: "web", Session: "s", Dir: b.trace, Chunk: b.chunk, Ended: nothingMore})
	if err != nil {
		return x, err
	}
	cpu, start := used(), time.Now()
	sum, err := s.Run(ctx)
	x = taken{time.Since(start), used() - cpu}
	if err == nil && sum.Acknowledged < b.bytes {
		err = fmt.Errorf("%d of %d bytes are acknowledged", sum.Acknowledged, b.bytes)
	}
	return x, err
}

func (b *bench) connect(carrier *broker.Broker, variant, file string, more ...nats.Option) (*nats.Conn, error) {
	if variant == "plain" {
		return nats.Connect(carrier.URL(), more...)
	}
	url := carrier.URL()
	key, _, err := trust.ReadKey(file)
	if err != nil {
		return nil, err
	}
	options, err := key.Options()
	if err != nil {
		return nil, err
	}
	if options = append(options, more...); variant == "inside" && key.Role == wire.ServerRole {
		inside, option := carrier.InProcess()
		url, options = inside, append(options, option)
	}
	return nats.Connect(url, options...)
}

// used returns the processor time of this process.
func used() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err) // there is no other error than of a wrong argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
