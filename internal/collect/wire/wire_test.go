package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
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
	rapid.Check(t, func(t *rapid.T) {
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
	rapid.Check(t, func(t *rapid.T) {
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
	d := newDecoder(f)
	f.Fuzz(func(t *testing.T, b []byte) {
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
