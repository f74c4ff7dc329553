package s3test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Peer is an object store of others, which runs as a process.
type Peer struct {
	URL string

	t    testing.TB
	argv []string
	env  []string
	cmd  *exec.Cmd
}

// peerKinds are those that are built from their modules.
var peerKinds = []struct {
	name, module string
	argv         func(binary, address, dir string) []string
	env          []string
}{
	{"versitygw", "github.com/versity/versitygw/cmd/versitygw@v1.8.0", func(binary, address, dir string) []string {
		return []string{binary, "--port", address, "posix", dir}
	}, []string{"ROOT_ACCESS_KEY=" + Key, "ROOT_SECRET_KEY=" + Secret}},
	{"minio", "github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c", func(binary, address, dir string) []string {
		return []string{binary, "server", "--quiet", "--address", address, dir}
	}, []string{"MINIO_ROOT_USER=" + Key, "MINIO_ROOT_PASSWORD=" + Secret, "MINIO_BROWSER=off", "MINIO_UPDATE=off", "MINIO_CI_CD=1"}},
}

// EachPeer builds each object store of others, which takes minutes at first, and calls f with it in a test of its own: it runs and has an empty bucket
// "bucket".
func EachPeer(t *testing.T, f func(t *testing.T, p *Peer)) {
	for _, kind := range peerKinds {
		t.Run(kind.name, func(t *testing.T) {
			bin := t.TempDir()
			build := exec.Command("go", "install", kind.module)
			build.Env, build.Dir = append(os.Environ(), "GOBIN="+bin, "GOFLAGS="), bin
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", kind.module, err, out)
			}
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			address := free.Addr().String()
			free.Close()
			p := &Peer{t: t, argv: kind.argv(filepath.Join(bin, kind.name), address, t.TempDir()), env: kind.env, URL: "http://" + address}
			p.start()
			t.Cleanup(p.kill)
			p.makeBucket()
			f(t, p)
		})
	}
}

func (p *Peer) start() {
	p.t.Helper()
	p.cmd = exec.Command(p.argv[0], p.argv[1:]...)
	p.cmd.Env = append(os.Environ(), p.env...)
	p.cmd.Dir = p.t.TempDir()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *Peer) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()
}

// Restart kills the store (-9) and starts it again.
func (p *Peer) Restart() {
	p.t.Helper()
	p.kill()
	p.start()
}

// Environment returns what leads to the store, as [Server.Environment].
func (p *Peer) Environment() []string { return (&Server{URL: p.URL}).Environment() }

// makeBucket waits for the store.
func (p *Peer) makeBucket() {
	p.t.Helper()
	c, err := minio.New(p.URL[len("http://"):], &minio.Options{Creds: credentials.NewStaticV4(Key, Secret, ""), Region: "us-east-1", MaxRetries: 1})
	if err != nil {
		p.t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if err = c.MakeBucket(p.t.Context(), "bucket", minio.MakeBucketOptions{}); err == nil {
			return
		} else if time.Now().After(end) {
			p.t.Fatal(err)
		}
	}
}
