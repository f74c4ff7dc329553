package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"meridian/internal/fuzztest"
	"meridian/internal/testseed"
)

func TestNamesThatLeadOutOfTheirDirectoryAreRefused(t *testing.T) {
	for _, name := range []string{"", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", ".hidden", "a\x00b", "a\nb", "\xff", strings.Repeat("x", 300)} {
		if CheckHost(name) == nil || CheckSession(name) == nil {
			t.Errorf("%q is a name of a host or session", name)
		}
	}
	for _, name := range []string{"", "..", "../metadata", "packets/", "packets/../x", "packets/a/b", "other/x", "/metadata", "packets/.x", "a\x00", "packets//x"} {
		if CheckFile(name) == nil {
			t.Errorf("%q is a file of a trace", name)
		}
	}
	for _, name := range []string{"metadata", "kernel_2_0", "sensor_5_web server_0", "packets/web.pcapng", "packets/web_3.pcapng"} {
		if err := CheckFile(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"web", "web.example.org", "größe", "a b"} {
		if err := CheckHost(name); err != nil {
			t.Error(err)
		}
	}
}

func TestEveryNameHasATokenOfItsOwn(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		name := rapid.StringN(1, 20, -1).Draw(t, "name")
		token := Token(name)
		if strings.ContainsAny(token, ".*> \t\r\n") {
			t.Fatalf("%q is no token of a subject", token)
		}
		if back, err := Name(token); err != nil || back != name {
			t.Fatalf("%q, %v of token %q", back, err, token)
		}
	})
	for _, token := range []string{"=", "=2", "=2x", "=41", "=2e", "a=ZZ", "a b", "a.b"} {
		if name, err := Name(token); err == nil {
			t.Errorf("token %q is %q", token, name)
		}
	}
}

func TestHostOfASubjectIsThatOfItsThirdElement(t *testing.T) {
	for _, host := range []string{"web", "web.example.org", "a b*>"} {
		for _, subject := range []string{OfHost(host, "data"), OfHostServer(host, "open", "x.y")} {
			if got, err := HostOf(subject); err != nil || got != host {
				t.Errorf("%q, %v of %s", got, err, subject)
			}
		}
	}
	for _, subject := range []string{"", "other", "meridian.v1.host..data", OfHost("../x", "data"), OfHost("..", "alive")} {
		if host, err := HostOf(subject); err == nil {
			t.Errorf("%q of %q", host, subject)
		}
	}
}

type decoder struct{ *zstd.Decoder }

func newDecoder(t testing.TB) decoder {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxRange))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(z.Close)
	return decoder{z}
}

func TestChunksAreReadAsTheyWereWritten(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	d := newDecoder(t)
	testseed.Check(t, func(t *rapid.T) {
		c := Chunk{Kind: Data, Session: "s", File: "kernel_1_0", Offset: rapid.Int64Range(0, 1<<62).Draw(t, "offset"), Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data")}
		if rapid.Bool().Draw(t, "document") {
			c.Kind, c.File, c.Offset = Document, Metadata, 0
		}
		if rapid.Bool().Draw(t, "much of it") {
			c.Data = bytes.Repeat(c.Data, 100)
		}
		var compress Compressor
		if rapid.Bool().Draw(t, "compressed") {
			compress = z
		}
		b := c.Append([]byte("before"), compress)[len("before"):]
		if len(b) > len(c.Data)+MaxOverhead {
			t.Fatalf("%d bytes for %d", len(b), len(c.Data))
		}
		got, _, err := Parse(b, d, nil)
		if err != nil || got.Kind != c.Kind || got.Session != c.Session || got.File != c.File || got.Offset != c.Offset || !bytes.Equal(got.Data, c.Data) {
			t.Fatalf("%+v, %v of %+v", got, err, c)
		}
		at := rapid.IntRange(0, len(b)-1).Draw(t, "flipped byte")
		b[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		got, _, err = Parse(b, d, nil) // zstd has bits that mean nothing
		if err == nil && (!bytes.Equal(got.Data, c.Data) || got.Offset != c.Offset || got.File != c.File || got.Kind != c.Kind) {
			t.Fatalf("%+v of a chunk with byte %d flipped", got, at)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, c := range []Chunk{{Kind: Data, Session: "s", File: "k", Data: []byte("abc")}, {Kind: Document, Session: "s", File: Metadata}, {Kind: Cut, Session: "s", File: "packets/w", Offset: 9}} {
		f.Add(c.Append(nil, nil))
	}
	for _, b := range fuzztest.Real(f, "chunk-*") {
		f.Add(b)
	}
	d := newDecoder(f)
	testseed.Fuzz(f, func(t *testing.T, b []byte) {
		c, _, err := Parse(b, d, nil)
		if err != nil {
			return
		}
		if CheckFile(c.File) != nil || CheckSession(c.Session) != nil || c.Offset < 0 || len(c.Data) > MaxRange {
			t.Errorf("%+v is no chunk", c)
		}
		again, _, err := Parse(c.Append(nil, nil), d, nil)
		if err != nil || !bytes.Equal(again.Data, c.Data) {
			t.Errorf("%v", err)
		}
	})
}

func TestStatesOfAgentsAreCheckedBeforeTheyAreShown(t *testing.T) {
	subject := OfHost("web", "alive")
	s, err := ReadAgentStatus(subject, []byte(`{"version":1,"host":"db","session":"s","servers":["a"],"recorded":7,"error":"disk\u001b[2J\nfull"}`))
	if err != nil || s.Host != "web" || s.Recorded != 7 || s.Error != "disk?[2J?full" {
		t.Errorf("%+v, %v", s, err)
	}
	for _, b := range []string{"", "[]", `{"version":2}`, `{"version":1,"session":"../s"}`, `{"version":1,"session":"\u001b[2J"}`, `{"version":1,"servers":["a/b"]}`,
		`{"version":1,"recorded":-1}`, `{"version":1,"lost":-1}`, `{"version":1,"error":"` + strings.Repeat("x", 100000) + `"}`} {
		if s, err := ReadAgentStatus(subject, []byte(b)); err == nil {
			t.Errorf("%+v of %.80s", s, b)
		}
	}
}

func TestATraceIsKnownByAUUID(t *testing.T) {
	good := "2a6422d0-6cee-11e0-8c08-cb07d7b3a564"
	if err := CheckTrace(good); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "x", good + "\n", good[:35], strings.ToUpper(good), strings.Repeat("-", 36), strings.Repeat("a", 36), "../../../../../../../../tmp/x/y/z/ab"} {
		if CheckTrace(bad) == nil {
			t.Errorf("%q is a UUID", bad)
		}
	}
}

func FuzzReadAgentStatus(f *testing.F) {
	f.Add(Encode(AgentStatus{Version: Version, Session: "s", Servers: []string{"a"}, Recorded: 1}))
	for _, b := range fuzztest.Real(f, "status-*") {
		f.Add(b)
	}
	testseed.Fuzz(f, func(t *testing.T, b []byte) {
		s, err := ReadAgentStatus(OfHost("web", "alive"), b)
		if err != nil {
			return
		}
		if s.Host != "web" || s.Session != "" && CheckSession(s.Session) != nil || min(s.Recorded, s.Acknowledged, s.Lost) < 0 || strings.ContainsAny(s.Error+string(s.State), "\x1b\r\n") {
			t.Errorf("%+v", s)
		}
	})
}

func TestASpanIsAskedForInOnePieceOfAnHourAtMost(t *testing.T) {
	for _, c := range []struct {
		from, to int64
		good     bool
	}{{0, 0, true}, {5, 5, true}, {5, 4, false}, {-1, 5, false}, {7, 7 + int64(MaxSpan), true}, {7, 8 + int64(MaxSpan), false}, {0, 1<<63 - 1, false}, {-1 << 63, 1<<63 - 1, false}} {
		x := Command{Version: Version, Do: Send, Session: "crash", FromNs: c.from, ToNs: c.to}
		if err := x.Check(); (err == nil) != c.good {
			t.Errorf("from %d to %d: %v", c.from, c.to, err)
		}
	}
}
