package pipeline

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"meridian/clock"
	"meridian/format/pcap"
	"meridian/internal/pipeline/input"
	"meridian/internal/testneed"
	"meridian/trace"
)

// mergeCase aligns the two captures of a case, whose b is 3.5 s ahead of a, and returns the merged capture and its
// path.
func mergeCase(t *testing.T, name string, o Options) (*trace.Capture, string, *Outcome) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "merged.pcapng")
	o.Outputs = []string{out}
	o.Align.Reference = "a"
	dir := filepath.Join("testdata", "cases", name)
	outcome, err := Run(context.Background(), []input.Trace{{Host: "a", Path: filepath.Join(dir, "a.pcap")}, {Host: "b", Path: filepath.Join(dir, "b.pcap")}}, o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := pcap.Read(context.Background(), out, "merged", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, out, outcome
}

func blocksByKind(blocks []trace.FileBlock) map[trace.BlockKind][]trace.FileBlock {
	of := make(map[trace.BlockKind][]trace.FileBlock)
	for _, b := range blocks {
		of[b.Kind] = append(of[b.Kind], b)
	}
	return of
}

// The second capture has secrets, a name, 37 custom blocks, 80 statistics, and 77 blocks that must not or cannot be
// copied.
func TestAMergedCaptureKeepsWhatItsInputsHaveBesidePackets(t *testing.T) {
	c, path, outcome := mergeCase(t, "decryption-secrets", Options{})
	original, err := pcap.Read(context.Background(), filepath.Join("testdata", "cases", "decryption-secrets", "b.pcap"), "b", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, want := blocksByKind(c.Blocks), blocksByKind(original.Blocks)
	for kind, n := range map[trace.BlockKind]int{trace.SecretsBlock: 1, trace.NamesBlock: 1, trace.CustomBlock: 37, trace.StatisticsBlock: 80} {
		if len(got[kind]) != n || len(want[kind]) != n {
			t.Fatalf("kind %d: %d of %d blocks, want %d", kind, len(got[kind]), len(want[kind]), n)
		}
		for i := range got[kind] {
			if !bytes.Equal(got[kind][i].Data, want[kind][i].Data) {
				t.Errorf("kind %d: block %d is %q, was %q", kind, i, got[kind][i].Data, want[kind][i].Data)
			}
		}
	}
	for i, b := range got[trace.StatisticsBlock] {
		// b's clock is 3.5 s ahead, and 40 ppm fast.
		before := want[trace.StatisticsBlock][i]
		if d := before.Time - b.Time - 3_500_000_000; d < -600_000 || d > 600_000 {
			t.Errorf("statistics %d are at %d, were at %d", i, b.Time, before.Time)
		}
		if name := c.Interfaces[b.Interface].Name; name != "b" {
			t.Errorf("statistics %d are of interface %s", i, name)
		}
	}
	if len(c.Blocks) > 0 && (c.Blocks[0].Kind != trace.SecretsBlock || c.Blocks[0].Packets != 0) {
		t.Errorf("the first block is %+v", c.Blocks[0])
	}
	if !strings.Contains(strings.Join(outcome.Warnings, "\n"), "b.pcap: blocks that merged captures leave out: they forbid to be copied, are of an unknown kind, or take more than 64 MiB (77 times)") {
		t.Errorf("%q", outcome.Warnings)
	}
	file, err := os.ReadFile(path)
	if err != nil || bytes.Contains(file, []byte("xxxx")) {
		t.Errorf("a block that must not be copied was copied, or %v", err)
	}
}

func TestSecretsAndNamesAreNotInARedactedCapture(t *testing.T) {
	c, path, _ := mergeCase(t, "decryption-secrets", Options{Redact: true})
	of := blocksByKind(c.Blocks)
	if len(c.Blocks) != 80 || len(of[trace.StatisticsBlock]) != 80 {
		t.Errorf("%d blocks, %d of statistics", len(c.Blocks), len(of[trace.StatisticsBlock]))
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"CLIENT_RANDOM", "a.x", "custom block data"} {
		if bytes.Contains(file, []byte(secret)) {
			t.Errorf("%q is in the file", secret)
		}
	}
}

// A captured connection is a list of what each side wrote, in order.
type tappedConn struct {
	net.Conn
	client bool
	to     *segments
}

type segments struct {
	mu   sync.Mutex
	list []segmentWritten
}

type segmentWritten struct {
	client bool
	data   []byte
}

func (c tappedConn) Write(p []byte) (int, error) {
	c.to.mu.Lock()
	c.to.list = append(c.to.list, segmentWritten{c.client, bytes.Clone(p)})
	c.to.mu.Unlock()
	return c.Conn.Write(p)
}

// tlsConversation returns what a client and a server wrote over TLS 1.3, the client a line that is nowhere else, and
// the secrets.
func tlsConversation(t *testing.T, line string) (written []segmentWritten, secrets string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(1)}, &x509.Certificate{SerialNumber: big.NewInt(1)}, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	var all segments
	var log bytes.Buffer
	near, far := net.Pipe()
	client := tls.Client(tappedConn{near, true, &all}, &tls.Config{InsecureSkipVerify: true, KeyLogWriter: &log, MinVersion: tls.VersionTLS13})
	server := tls.Server(tappedConn{far, false, &all}, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}, SessionTicketsDisabled: true})
	served := make(chan error, 1)
	go func() {
		_, err := io.ReadFull(server, make([]byte, len(line)))
		if err == nil {
			_, err = server.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
		}
		served <- err
	}()
	if _, err := client.Write([]byte(line)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	return all.list, log.String()
}

// tcpFrame is an Ethernet frame of a connection of 10.0.0.1 with port 443 of 10.0.0.2.
func tcpFrame(client bool, seq, ack uint32, flags byte, data []byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}, 0x0800)
	b = append(b, 0x45, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(40+len(data)))
	b = append(b, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2)
	from, to := uint16(40000), uint16(443)
	if !client {
		b[14+15], b[14+19] = 2, 1
		from, to = to, from
	}
	b = binary.BigEndian.AppendUint16(b, from)
	b = binary.BigEndian.AppendUint16(b, to)
	b = binary.BigEndian.AppendUint32(b, seq)
	b = binary.BigEndian.AppendUint32(b, ack)
	b = append(b, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0)
	return append(b, data...)
}

// tshark decrypts a merged capture as it decrypts the input: a request over TLS shows by its path.
func TestAMergedCaptureIsDecryptedAsItsInputs(t *testing.T) {
	tshark := testneed.Program(t, "tshark")
	const line = "GET /nowhere-else HTTP/1.1\r\nHost: b\r\n\r\n"
	written, secrets := tlsConversation(t, line)
	dir := t.TempDir()
	var inputs []input.Trace
	for i, host := range []string{"a", "b"} {
		var out bytes.Buffer
		x, err := pcap.NewWriter(&out, []pcap.WriterInterface{{Name: "eth0", LinkType: 1}}, "")
		if err != nil {
			t.Fatal(err)
		}
		if host == "b" {
			data := binary.LittleEndian.AppendUint32(nil, 0x544c534b) // TLS key log
			data = append(binary.LittleEndian.AppendUint32(data, uint32(len(secrets))), secrets...)
			data = append(data, make([]byte, -len(data)&3)...)
			if err := x.Block(&trace.FileBlock{Kind: trace.SecretsBlock, Data: data}); err != nil {
				t.Fatal(err)
			}
		}
		at := clock.HostTime(1_700_000_000_000_000_000 + 1_000_000_000*i) // b is a second ahead
		write := func(client bool, seq, ack uint32, flags byte, data []byte) {
			if at += 100_000; client == (host == "b") {
				at += 50_000 // on the wire
			}
			frame := tcpFrame(client, seq, ack, flags, data)
			if err := x.Write(0, &trace.Frame{Time: at, Data: frame, Wire: uint32(len(frame))}); err != nil {
				t.Fatal(err)
			}
			if at += 100_000; client != (host == "b") {
				at += 50_000
			}
		}
		seq := map[bool]uint32{true: 1001, false: 5001}
		write(true, 1000, 0, 2, nil)
		write(false, 5000, 1001, 0x12, nil)
		write(true, 1001, 5001, 0x10, nil)
		for _, s := range written {
			for data := s.data; len(data) > 0; {
				n := min(len(data), 1400)
				write(s.client, seq[s.client], seq[!s.client], 0x18, data[:n])
				seq[s.client] += uint32(n)
				data = data[n:]
			}
		}
		if err := x.Flush(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, host+".pcapng")
		if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, input.Trace{Host: host, Path: path})
	}
	paths := func(file string) string {
		out, err := exec.Command(tshark, "-n", "-r", file, "-Y", "http.request", "-T", "fields", "-e", "http.request.uri").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	if got := paths(inputs[1].Path); got != "/nowhere-else" {
		t.Fatalf("tshark decrypts %q of the input", got)
	}
	merged, redacted := filepath.Join(dir, "merged.pcapng"), filepath.Join(dir, "redacted.pcapng")
	if _, err := Run(context.Background(), inputs, Options{Outputs: []string{merged}}); err != nil {
		t.Fatal(err)
	}
	if got := paths(merged); !strings.Contains(got, "/nowhere-else") {
		t.Errorf("tshark decrypts %q of the merged capture", got)
	}
	if _, err := Run(context.Background(), inputs, Options{Outputs: []string{redacted}, Redact: true}); err != nil {
		t.Fatal(err)
	}
	if got := paths(redacted); got != "" {
		t.Errorf("tshark decrypts %q of a redacted capture", got)
	}
	if b, err := os.ReadFile(redacted); err != nil || bytes.Contains(b, []byte("CLIENT_HANDSHAKE")) {
		t.Errorf("secrets in a redacted capture, or %v", err)
	}
}
