//go:build peers

package archive

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"meridian/internal/s3/s3test"
)

// peer is an object store of others, which runs as a process.
type peer struct {
	t    *testing.T
	argv []string
	env  []string
	url  string
	cmd  *exec.Cmd
}

func (p *peer) start() {
	p.t.Helper()
	p.cmd = exec.Command(p.argv[0], p.argv[1:]...)
	p.cmd.Env = append(os.Environ(), p.env...)
	p.cmd.Dir = p.t.TempDir()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()
}

// makeBucket waits for the store.
func (p *peer) makeBucket() {
	p.t.Helper()
	c, err := minio.New(p.url[len("http://"):], &minio.Options{Creds: credentials.NewStaticV4(s3test.Key, s3test.Secret, ""), Region: "us-east-1", MaxRetries: 1})
	if err != nil {
		p.t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if err = c.MakeBucket(p.t.Context(), "bucket", minio.MakeBucketOptions{}); err == nil {
			return
		} else if time.Now().After(end) {
			p.t.Fatal(err)
		}
	}
}

// TestObjectStoresOfOthersHaveEverythingAfterTheyWereKilled archives into versitygw while it is killed (-9) and started again.
func TestObjectStoresOfOthersHaveEverythingAfterTheyWereKilled(t *testing.T) {
	for _, store := range []struct {
		module string
		argv   func(binary, address, dir string) []string
		env    []string
	}{
		{"github.com/versity/versitygw/cmd/versitygw@v1.8.0", func(binary, address, dir string) []string {
			return []string{binary, "--port", address, "posix", dir}
		}, []string{"ROOT_ACCESS_KEY=" + s3test.Key, "ROOT_SECRET_KEY=" + s3test.Secret}},
	} {
		t.Run(filepath.Base(store.module), func(t *testing.T) {
			bin := t.TempDir()
			build := exec.Command("go", "install", store.module)
			build.Env, build.Dir = append(os.Environ(), "GOBIN="+bin), bin
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", store.module, err, out)
			}
			built, err := filepath.Glob(bin + "/*")
			if err != nil || len(built) != 1 {
				t.Fatalf("%v: %v", built, err)
			}
			testPeer(t, func(address, dir string) *peer {
				return &peer{t: t, argv: store.argv(built[0], address, dir), env: store.env, url: "http://" + address}
			})
		})
	}
}

func testPeer(t *testing.T, prepare func(address, dir string) *peer) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	p := prepare(address, t.TempDir())
	p.start()
	defer func() { p.kill() }()
	l := newLab(t, 77)
	t.Setenv("AWS_ENDPOINT_URL", p.url)
	p.makeBucket()
	a := l.archive("one")
	hosts := []string{"web", "db", "app"}
	for _, host := range hosts {
		l.document(host)
	}
	failed := 0
	for round := range 12 {
		for _, host := range hosts {
			l.append(host, "kernel_0", 1+l.r.IntN(4*part))
			l.append(host, "packets/web.pcapng", 1+l.r.IntN(2*part))
		}
		if round%3 == 2 {
			l.now = l.now.Add(time.Minute)
		}
		ended := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		go func() {
			defer close(ended)
			if a.Pass(ctx) != nil {
				failed++
			}
		}()
		if round%2 == 1 {
			time.Sleep(time.Duration(l.r.IntN(60)) * time.Millisecond) // into the middle of it
			p.kill()
			p.start()
		}
		<-ended
		if cancel(); l.r.IntN(3) == 0 {
			a = l.archive("one")
		}
	}
	l.now = l.now.Add(time.Minute)
	for end := time.Now().Add(30 * time.Second); ; {
		if err = a.Pass(t.Context()); err == nil {
			l.now = l.now.Add(time.Minute)
			if err = a.Pass(t.Context()); err == nil {
				break
			}
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	l.compare(l.local())
	t.Logf("%d passes of 12 failed; %d bytes archived", failed, a.put)
}
