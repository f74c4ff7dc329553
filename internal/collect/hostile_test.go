package collect_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"

	"meridian/internal/collect"
	"meridian/internal/collect/broker"
	"meridian/internal/collect/ship"
	"meridian/internal/collect/store"
	"meridian/internal/collect/trust"
	"meridian/internal/collect/wire"
)

// siege is a server with keys, the agent of host "web", and a program with the key of host "evil" that keeps no rule.
type siege struct {
	t       *testing.T
	keys    *trust.Trust
	broker  *broker.Broker
	server  *collect.Server
	servers string // directory
	evil    *nats.Conn
	refused chan error // what the broker says to it
	said    *lines     // what the broker says to people
}

func besiege(t *testing.T, limits store.Limits) *siege {
	t.Helper()
	s := &siege{t: t, servers: t.TempDir(), refused: make(chan error, 1<<16), said: new(lines)}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	keys := t.TempDir()
	var err error
	s.keys, err = trust.Init(keys, trust.Options{Names: []string{"127.0.0.1"}, Now: time.Now()})
	must(err)
	for _, host := range []string{"web", "evil"} {
		must(s.keys.Invite(host, nil, trust.NewFile(filepath.Join(keys, host))))
	}
	users, err := s.keys.Users()
	must(err)
	config, err := s.keys.TLS()
	must(err)
	s.broker, err = broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "test", Users: users, TLS: config, Log: s.said.add})
	must(err)
	t.Cleanup(s.broker.Close)
	kept, err := store.New(s.servers, store.OS{}, limits)
	must(err)
	s.server, err = collect.NewServer(collect.ServerOptions{Conn: wire.Over(s.connect(s.keys.ServerKey())), Name: "a", Store: kept, Log: t.Logf})
	must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.server.Run(ctx) }()
	t.Cleanup(func() {
		select {
		case err := <-ended:
			t.Errorf("the server has ended: %v", err)
		default:
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	s.evil = s.connect(filepath.Join(keys, "evil"), nats.CustomInboxPrefix(wire.OfHost("evil", "inbox")),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { s.refused <- err }))
	return s
}

func (s *siege) connect(file string, more ...nats.Option) *nats.Conn {
	s.t.Helper()
	key, exposed, err := trust.ReadKey(file)
	if err = errors.Join(err, exposed); err != nil {
		s.t.Fatal(err)
	}
	options, err := key.Options()
	if err != nil {
		s.t.Fatal(err)
	}
	options = append(append(options, nats.Timeout(time.Minute)), more...)
	c, err := nats.Connect(s.broker.URL(), options...)
	// On a busy machine the broker may give up a handshake that takes long.
	for late := time.Now().Add(time.Minute); err != nil && !trust.Refused(err) && time.Now().Before(late); {
		c, err = nats.Connect(s.broker.URL(), options...)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

// goodGoesOn ships a trace of the good host to its end.
func (s *siege) goodGoesOn() {
	s.t.Helper()
	dir := filepath.Join(s.t.TempDir(), "trace")
	w := newTrace(s.t, dir, 5)
	for i := range 100 {
		w.write(fmt.Sprintf("kernel_1_%d", i%3), w.packet(64+8*w.r.IntN(2000)))
	}
	l := &lab{t: s.t, broker: s.broker}
	c := s.connect(filepath.Join(filepath.Dir(s.keys.Dir()), "web"), nats.CustomInboxPrefix(wire.OfHost("web", "inbox")))
	if sum := l.shipOver(c, ship.Options{Host: "web", Session: "s", Dir: dir, Chunk: 8192}); sum.Lost != 0 || sum.Recorded == 0 {
		s.t.Errorf("%+v", sum)
	}
	same(s.t, dir, filepath.Join(s.servers, "s", "web"))
}

// open asks the server to store the hostile host.
func (s *siege) open(x wire.Open) wire.Opened {
	s.t.Helper()
	x.Version = wire.Version
	m, err := s.evil.Request(wire.OfHostServer("evil", "open", "a"), wire.Encode(x), 60*time.Second)
	for until := time.Now().Add(60 * time.Second); errors.Is(err, nats.ErrNoResponders) && time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		m, err = s.evil.Request(wire.OfHostServer("evil", "open", "a"), wire.Encode(x), 60*time.Second) // the server begins
	}
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := wire.Decode[wire.Opened](m.Data)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer
}

func (s *siege) publish(subject string, b []byte) {
	s.t.Helper()
	if err := s.evil.Publish(subject, b); err != nil {
		s.t.Fatal(err)
	}
}

// stored returns all files of the server, and none may lie outside of the two hosts.
func (s *siege) stored() (evil []string) {
	s.t.Helper()
	err := filepath.WalkDir(s.servers, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(s.servers, path)
		parts := strings.Split(filepath.ToSlash(name), "/")
		if len(parts) < 3 || parts[1] != "web" && parts[1] != "evil" {
			s.t.Errorf("%s is written", name)
		} else if parts[1] == "evil" && parts[2] != ".trace" && parts[2] != ".boot" {
			evil = append(evil, name)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return evil
}

// rawChunk returns a chunk with whatever it says, and the checksum that belongs to it.
func rawChunk(kind, flags byte, session, file string, offset uint64, size uint32, sent, meant []byte) []byte {
	le := binary.LittleEndian
	b := append([]byte("MRC1"), kind, flags)
	b = le.AppendUint16(b, uint16(len(session)))
	b = le.AppendUint16(b, uint16(len(file)))
	b = le.AppendUint16(b, 0)
	b = le.AppendUint32(b, size)
	b = le.AppendUint64(b, offset)
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(crc32.Update(crc32.Checksum(b, table), table, []byte(session+file)), table, meant)
	b = le.AppendUint32(b, sum)
	return append(append(append(b, session...), file...), sent...)
}

func TestHostileChunksWriteNothingAndOthersGoOn(t *testing.T) {
	s := besiege(t, store.Limits{})
	if answer := s.open(wire.Open{Session: "s", Trace: uuid}); answer.Error != "" {
		t.Fatal(answer.Error)
	}
	data := wire.OfHost("evil", "data")
	x := []byte("x")
	for _, file := range []string{"../web/metadata", "../../x", "/etc/cron.d/x", "packets/../../x", "packets/a/b", "a/b", ".trace", ".next", "", ".", "..", "a\x00b", "a\nb", "a\x1b[2J", strings.Repeat("x", 60000)} {
		s.publish(data, rawChunk(1, 0, "s", file, 0, 1, x, x))
	}
	for _, session := range []string{"..", "../s", "other", "", ".trust", "s/web"} {
		s.publish(data, rawChunk(1, 0, session, "k", 0, 1, x, x))
	}
	for _, offset := range []uint64{1, 1 << 40, 1<<62 - 1, 1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
		s.publish(data, rawChunk(1, 0, "s", "k", offset, 1, x, x))
		s.publish(data, rawChunk(3, 0, "s", "k", offset, 0, nil, nil))
	}
	s.publish(data, rawChunk(2, 0, "s", "k", 0, 1, x, x))
	s.publish(data, rawChunk(9, 0, "s", "k", 0, 1, x, x))
	s.publish(data, rawChunk(1, 0xff, "s", "k", 0, 1, x, x))
	s.publish(data, rawChunk(1, 0, "s", "k", 0, 1<<31, x, x))
	s.publish(data, rawChunk(1, 0, "s", "k", 0, 1, x, []byte("y")))
	s.publish(data, nil)
	s.publish(data, []byte("MRC1"))
	s.goodGoesOn()
	if answer := s.open(wire.Open{Session: "s", Trace: uuid}); answer.Error != "" || len(answer.Files) != 0 {
		t.Errorf("after what it sent the server has %+v", answer)
	}
	if files := s.stored(); files != nil {
		t.Errorf("%v are written", files)
	}
}

// What unpacks to more than a chunk may have is given up before it is unpacked.
func TestBombsAreNotUnpacked(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := besiege(t, store.Limits{})
	if answer := s.open(wire.Open{Session: "s", Trace: uuid}); answer.Error != "" {
		t.Fatal(answer.Error)
	}
	bomb := z.EncodeAll(make([]byte, 256<<20), nil)
	nameless, err := zstd.NewWriter(nil, zstd.WithWindowSize(zstd.MaxWindowSize>>3), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	wide := nameless.EncodeAll(make([]byte, 100<<20), nil)
	const times = 50
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range times {
		for _, b := range [][]byte{bomb, wide} {
			for _, size := range []uint32{1, wire.MaxRange, wire.MaxRange + 1} {
				s.publish(wire.OfHost("evil", "data"), rawChunk(1, 1, "s", "k", 0, size, b, nil))
			}
		}
	}
	if answer := s.open(wire.Open{Session: "s", Trace: uuid}); answer.Error != "" || len(answer.Files) != 0 {
		t.Errorf("%+v", answer)
	}
	s.goodGoesOn()
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 128<<20 { // one of them would be 256 MiB
		t.Errorf("%d bombs took %d MiB", times*6, grown>>20)
	}
	if files := s.stored(); files != nil {
		t.Errorf("%v are written", files)
	}
}

func TestRequestsThatKeepNoRuleAreRefused(t *testing.T) {
	s := besiege(t, store.Limits{Sessions: 3, Hosts: 2})
	for _, x := range []wire.Open{
		{Session: "../s", Trace: uuid}, {Session: "", Trace: uuid}, {Session: ".trust", Trace: uuid}, {Session: "a/b", Trace: uuid},
		{Session: "s"}, {Session: "s", Trace: "x"}, {Session: "s", Trace: uuid + "\n"}, {Session: "s", Trace: strings.Repeat("a", 1<<20)},
		{Session: "s", Trace: strings.ToUpper(uuid)}, {Session: "s", Trace: "../../../../../../../../../../tmp/x/y"},
	} {
		if answer := s.open(x); answer.Error == "" || len(answer.Error) > 1000 {
			t.Errorf("%.100q of %.100q is stored: %.100s", x.Session, x.Trace, answer.Error)
		}
	}
	if answer := s.open(wire.Open{Session: "s", Trace: uuid}); answer.Error != "" {
		t.Error(answer.Error)
	}
	if answer := s.open(wire.Open{Session: "s", Trace: strings.Replace(uuid, "2", "3", 1)}); !strings.Contains(answer.Error, "record into another session") {
		t.Errorf("another trace: %+v", answer)
	}
	refused := 0
	for i := range 10 {
		if answer := s.open(wire.Open{Session: fmt.Sprint("more", i), Trace: uuid}); strings.Contains(answer.Error, "a limit is reached") {
			refused++
		}
	}
	if refused != 8 { // two more are permitted
		t.Errorf("%d of 10 sessions are refused beyond the limit of 3", refused)
	}
	s.goodGoesOn()
	s.stored()
}

func TestAnswersReachNobodyElse(t *testing.T) {
	s := besiege(t, store.Limits{})
	web := s.connect(filepath.Join(filepath.Dir(s.keys.Dir()), "web"))
	heard, err := web.SubscribeSync(wire.OfHost("web", "inbox") + ".>")
	if err != nil {
		t.Fatal(err)
	}
	acks, err := web.SubscribeSync(wire.OfHost("web", "ack"))
	if err != nil {
		t.Fatal(err)
	}
	if err := web.Flush(); err != nil {
		t.Fatal(err)
	}
	request := wire.Encode(wire.Open{Version: wire.Version, Session: "s", Trace: uuid})
	for _, reply := range []string{wire.OfHost("web", "inbox") + ".x", wire.OfHost("web", "ack"), wire.OfHost("web", "command"), wire.ServerAlive("a"), wire.ControlStart, "_INBOX.x"} {
		if err := s.evil.PublishRequest(wire.OfHostServer("evil", "open", "a"), reply, request); err != nil {
			t.Fatal(err)
		}
	}
	if answer := s.open(wire.Open{Session: "s", Trace: uuid}); answer.Error != "" { // behind those
		t.Error(answer.Error)
	}
	if err := web.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := heard.Pending(); n != 0 {
		t.Errorf("%d answers reach another host", n)
	}
	if n, _, _ := acks.Pending(); n != 0 {
		t.Errorf("%d answers come as acks of another host", n)
	}
	s.goodGoesOn()
}

func TestAMillionTinyFilesEndAtTheLimit(t *testing.T) {
	const limit = 2000
	s := besiege(t, store.Limits{Files: limit, Open: 32})
	if answer := s.open(wire.Open{Session: "s", Trace: uuid}); answer.Error != "" {
		t.Fatal(answer.Error)
	}
	acks, err := s.evil.SubscribeSync(wire.OfHost("evil", "ack"))
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("<", 150) // six bytes of JSON each
	for i := range 10 * limit {
		s.publish(wire.OfHost("evil", "data"), rawChunk(1, 0, "s", fmt.Sprint(long, i), 0, 1, []byte("x"), []byte("x")))
		s.publish(wire.OfHost("evil", "data"), rawChunk(1, 0, "s", fmt.Sprint("gap", long, i), 9, 1, []byte("x"), []byte("x")))
	}
	s.goodGoesOn()
	told := map[string]bool{}
	for len(told) < limit {
		m, err := acks.NextMsg(time.Minute)
		if err != nil {
			t.Fatalf("%v after %d files", err, len(told))
		}
		if len(m.Data) > 64<<10 {
			t.Errorf("an ack of %d bytes", len(m.Data))
		}
		ack, err := wire.Decode[wire.Ack](m.Data)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range ack.Files {
			if f.Have == 1 {
				told[f.Name] = true
			}
		}
	}
	if n := len(s.stored()); n != limit {
		t.Errorf("%d files are stored, %d are permitted", n, limit)
	}
	found, after, parts := 0, "", 0
	for more := true; more; parts++ {
		answer := s.open(wire.Open{Session: "s", Trace: uuid, After: after})
		if answer.Error != "" || len(answer.Files) == 0 {
			t.Fatalf("%+v", answer)
		}
		for _, f := range answer.Files {
			if f.Name <= after {
				t.Fatalf("%s comes after %s", f.Name, after)
			}
			after = f.Name
		}
		found, more = found+len(answer.Files), answer.More
	}
	if found != limit || parts < 2 {
		t.Errorf("%d files in %d answers", found, parts)
	}
}

func TestAFloodDelaysNobody(t *testing.T) {
	s := besiege(t, store.Limits{})
	flood := make(chan struct{})
	ended := make(chan int, 1)
	go func() {
		n := 0
		alive := wire.Encode(wire.AgentStatus{Version: wire.Version, Session: "s", Servers: []string{strings.Repeat("a", 100)}})
		garbage := make([]byte, 100<<10)
		for {
			select {
			case <-flood:
				ended <- n
				return
			default:
			}
			n++
			request := wire.Encode(wire.Open{Version: wire.Version, Session: fmt.Sprint("s", n%2), Trace: uuid})
			_ = s.evil.Publish(wire.OfHost("evil", "alive"), alive)
			_ = s.evil.Publish(wire.OfHost("evil", "alive"), garbage[:n%len(garbage)])
			_ = s.evil.PublishRequest(wire.OfHostServer("evil", "open", "a"), wire.OfHost("evil", "inbox")+".x", request)
			_ = s.evil.Publish(wire.OfHost("web", "alive"), alive) // refused
		}
	}()
	for range 3 {
		s.goodGoesOn()
	}
	web := s.connect(filepath.Join(filepath.Dir(s.keys.Dir()), "web"))
	state := wire.AgentStatus{Version: wire.Version, Host: "evil", Session: "night", Recorded: 7}
	for {
		if err := web.Publish(wire.OfHost("web", "alive"), wire.Encode(state)); err != nil {
			t.Fatal(err)
		}
		if at := s.agent("web"); at.Recorded == 7 && at.Host == "web" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	close(flood)
	t.Logf("%d rounds of the flood", <-ended)
}

func (s *siege) agent(host string) collect.Agent {
	for _, a := range s.server.Agents() {
		if a.Host == host {
			return a
		}
	}
	return collect.Agent{}
}
