package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"meridian/internal/s3/s3test"
)

// open returns the file system of a store.
func open(t *testing.T, s *s3test.Server) *FS {
	t.Helper()
	s.Setenv(t)
	defer leaves(t)
	return NewFS(t.Context(), FromEnvironment)
}

// leaves has the test fail if it leaves requests running. Idle connections are no requests.
func leaves(t *testing.T) {
	idle := []goleak.Option{goleak.IgnoreCurrent(), goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("net/http.(*conn).serve"), goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"), goleak.IgnoreAnyFunction("net/http/httptest.(*Server).goServe.func1")}
	t.Cleanup(func() {
		for until := time.Now().Add(time.Minute); ; { // those that end may take a while on a busy machine
			err := goleak.Find(idle...)
			if err == nil {
				return
			}
			if time.Now().After(until) {
				t.Error(err)
				return
			}
		}
	})
}

func random(seed uint64, n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestPrefixesAreDirectories(t *testing.T) {
	s := s3test.New(t, "bkt", "empty")
	s.Page = 2
	for _, key := range []string{"run/web/metadata", "run/web/packets/a.pcapng", "run/web/packets/ä b+c%2F.pcapng", "run/web/kernel_0", "run/web/kernel_1", "run/db/metadata", "top"} {
		s.Put("bkt", key, []byte(key))
	}
	f := open(t, s)
	under, err := fs.Sub(f, "bkt")
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(under, "run/web/metadata", "run/web/packets/a.pcapng", "run/web/packets/ä b+c%2F.pcapng", "run/web/kernel_1", "run/db/metadata", "top"); err != nil {
		t.Error(err)
	}
	if entries, err := fs.ReadDir(f, "empty"); err != nil || len(entries) > 0 {
		t.Errorf("an empty bucket: %v, %v", entries, err)
	}
	for _, name := range []string{"bkt/run/we", "bkt/run/web/metadata/x", "bkt/run/web/index/kernel_0.idx", "bkt/tops", "other/x", "other"} {
		if _, err := fs.Stat(f, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNamesThatNoPathLeadsToAreLeftOut(t *testing.T) {
	s := s3test.New(t, "bkt")
	for _, key := range []string{"run/", "run/web", "run/../etc/passwd", "run/./x", "run//y", "run/ok"} {
		s.Put("bkt", key, []byte("x"))
	}
	s.Put("bkt", "run/mark", nil) // some tools leave an empty object for a directory
	s.Put("bkt", "run/mark/inside", []byte("x"))
	s.Put("bkt", "run/web/hidden", []byte("x"))
	f := open(t, s)
	entries, err := fs.ReadDir(f, "bkt/run")
	var got []string
	for _, e := range entries {
		got = append(got, fs.FormatDirEntry(e))
	}
	if want := []string{"d mark/", "- ok", "- web"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	fresh := NewFS(t.Context(), FromEnvironment) // which has no listing
	for name, dir := range map[string]bool{"bkt/run/mark": true, "bkt/run/web": false} {
		if info, err := fs.Stat(fresh, name); err != nil || info.IsDir() != dir {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func TestAnyPartOfAFileIsWhatIsThere(t *testing.T) {
	s := s3test.New(t, "bkt")
	content := random(3, 5*blockSize+4711)
	s.Put("bkt", "x", content)
	f := open(t, s)
	f.cache.limit = 4 // so that blocks go and come again
	file, err := f.Open("bkt/x")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var readers sync.WaitGroup
	for seed := range uint64(4) {
		readers.Go(func() {
			r := rand.New(rand.NewPCG(seed, 5))
			for range 100 {
				at := r.IntN(len(content) + 10)
				b := make([]byte, r.IntN(2*blockSize))
				n, err := file.(io.ReaderAt).ReadAt(b, int64(at))
				want := content[min(at, len(content)):min(at+len(b), len(content))]
				if !bytes.Equal(b[:n], want) || (n < len(b)) != (err == io.EOF) {
					t.Errorf("seed %d: %d bytes at %d: %d, %v", seed, len(b), at, n, err)
					return
				}
			}
		})
	}
	readers.Wait()
	if all, err := io.ReadAll(file); err != nil || !bytes.Equal(all, content) {
		t.Errorf("read as a stream: %d bytes, %v", len(all), err)
	}
	if n := len(f.cache.blocks); n > 4+2*maxRun {
		t.Errorf("%d blocks are kept, of which 4 are permitted", n)
	}
}

func TestAFileThatIsReadOnwardsNeedsFewRequests(t *testing.T) {
	s := s3test.New(t, "bkt")
	content := random(4, 64*blockSize)
	s.Put("bkt", "x", content)
	f := open(t, s)
	for range 2 { // the second time from what is kept
		file, err := f.Open("bkt/x")
		if err != nil {
			t.Fatal(err)
		}
		var window [64 << 10]byte
		head := make([]byte, 64)
		for at := 0; at < len(content); at += len(window) {
			// Headers of packets are read ahead of their events.
			if n := at + 3*blockSize + 100; n < len(content)-64 && at%(2*blockSize) == 0 {
				if _, err := file.(io.ReaderAt).ReadAt(head, int64(n)); err != nil || !bytes.Equal(head, content[n:n+64]) {
					t.Fatalf("at %d: %v", n, err)
				}
			}
			if _, err := file.(io.ReaderAt).ReadAt(window[:], int64(at)); err != nil || !bytes.Equal(window[:], content[at:at+len(window)]) {
				t.Fatalf("at %d: %v", at, err)
			}
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
		var ranges int
		for _, r := range s.Requests() {
			if strings.HasPrefix(r, "GET /bkt/x ") {
				ranges++
			}
		}
		if ranges > 30 {
			t.Errorf("%d requests for 64 blocks", ranges)
		}
	}
}

func TestAnAnswerThatBreaksOffIsContinued(t *testing.T) {
	s := s3test.New(t, "bkt")
	content := random(5, 9*blockSize)
	s.Put("bkt", "x", content)
	f := open(t, s)
	var requests atomic.Int64 // a request that was broken off may still be answered when the next one comes
	s.Inject(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || r.Header.Get("Range") == "" {
			return false
		}
		n := requests.Add(1)
		if n%3 == 0 {
			return false
		}
		var from, to int
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Length", fmt.Sprint(to-from+1))
		w.Header().Set("Last-Modified", "Sun, 01 Nov 2026 12:00:00 GMT")
		w.WriteHeader(http.StatusPartialContent)
		if n%3 == 1 { // not even a block
			to = from + 1000
		} else { // a block and a bit
			to = min(to, from+blockSize+1000)
		}
		_, _ = w.Write(content[from:to])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	all, err := fs.ReadFile(f, "bkt/x")
	if err != nil || !bytes.Equal(all, content) {
		t.Errorf("%d bytes, %v", len(all), err)
	}
	if n := requests.Load(); n < 6 {
		t.Errorf("only %d requests were made", n)
	}
}

func TestAnObjectThatWasReplacedIsNotMixed(t *testing.T) {
	s := s3test.New(t, "bkt")
	s.Put("bkt", "x", random(6, 3*blockSize))
	f := open(t, s)
	file, err := f.Open("bkt/x")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.(io.ReaderAt).ReadAt(make([]byte, 10), 0); err != nil {
		t.Fatal(err)
	}
	s.Put("bkt", "x", random(7, 3*blockSize))
	if _, err := file.(io.ReaderAt).ReadAt(make([]byte, 10), 2*blockSize); !errors.Is(err, errReplaced) {
		t.Errorf("%v", err)
	}
}

func TestAStoreWithoutRangesIsRefused(t *testing.T) {
	s := s3test.New(t, "bkt")
	s.Put("bkt", "x", random(8, 3*blockSize))
	f := open(t, s)
	s.Inject(func(_ http.ResponseWriter, r *http.Request) bool { r.Header.Del("Range"); return false })
	if _, err := fs.ReadFile(f, "bkt/x"); err == nil || !strings.Contains(err.Error(), "does it know ranges?") {
		t.Errorf("%v", err)
	}
}

func TestAFileThatIsClosedGivesUpItsRequestsAndNobodyElses(t *testing.T) {
	s := s3test.New(t, "bkt")
	content := random(9, 2*blockSize)
	s.Put("bkt", "x", content)
	f := open(t, s)
	first, second := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.Inject(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && r.Header.Get("Range") != "" {
			wait := false
			once.Do(func() { wait = true; close(first) })
			if wait {
				<-r.Context().Done()
			}
		}
		return false
	})
	one, err := f.Open("bkt/x")
	if err != nil {
		t.Fatal(err)
	}
	two, err := f.Open("bkt/x")
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	go func() {
		defer close(second)
		_, err := one.Read(make([]byte, 10))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the closed file: %v", err)
		}
	}()
	<-first
	if err := errors.Join(one.Close()); err != nil {
		t.Error(err)
	}
	<-second
	b := make([]byte, 100)
	if _, err := two.Read(b); err != nil || !bytes.Equal(b, content[:100]) {
		t.Errorf("the other file: %v", err)
	}
	if _, err := one.Read(b); err == nil {
		t.Error("a closed file was read")
	}
	if err := one.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
}

func TestWithoutAStoreTheErrorSaysWhatToDo(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://127.0.0.1:1":      "connection refused",
		"ftp://127.0.0.1":         "want the URL of an object store",
		"http://user@127.0.0.1":   "want the URL of an object store",
		"http://127.0.0.1/bucket": "want the URL of an object store",
	} {
		t.Setenv("AWS_ENDPOINT_URL", "")
		t.Setenv("AWS_ENDPOINT_URL_S3", endpoint)
		t.Setenv("AWS_ACCESS_KEY_ID", "k")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
		t.Setenv("AWS_REGION", "us-east-1")
		if _, err := fs.Stat(NewFS(t.Context(), FromEnvironment), "bkt/x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}

func TestKeysComeFromTheFilesOfTheAWSTools(t *testing.T) {
	s := s3test.New(t, "bkt")
	s.Put("bkt", "x", []byte("content"))
	s.Setenv(t)
	home := t.TempDir()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY", "AWS_SECRET_KEY"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	t.Setenv("AWS_PROFILE", "traces")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", home+"/credentials")
	if err := os.WriteFile(home+"/credentials", []byte("[traces]\naws_access_key_id = "+s3test.Key+"\naws_secret_access_key = "+s3test.Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := fs.ReadFile(NewFS(t.Context(), FromEnvironment), "bkt/x"); err != nil || string(b) != "content" {
		t.Errorf("%q, %v", b, err)
	}
	t.Setenv("AWS_PROFILE", "nobody")
	if _, err := fs.ReadFile(NewFS(t.Context(), FromEnvironment), "bkt/x"); err == nil || !strings.Contains(err.Error(), "AWS_PROFILE") {
		t.Errorf("without keys: %v", err)
	}
}

func TestAddressesNameABucket(t *testing.T) {
	for address, want := range map[string]string{"s3://bkt": "bkt ", "s3://b/": "b ", "s3://b/a/b/": "b a/b", "s3:/b/a": "", "s3://": "", "bkt/a": "", "s3:///": "", "s3://b/../c": "c "} {
		bucket, prefix, err := Location(address)
		if err == nil && bucket+" "+prefix != want || err != nil && want != "" {
			t.Errorf("%s: %q %q, %v", address, bucket, prefix, err)
		}
	}
}
