package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"meridian/internal/s3/s3test"
)

// The store breaks off the first tries of each object at some byte of its content, or answers before it has read that. The transport may read the content of a
// broken request for a while; the race detector sees when that is also read by the next one, or is the caller's already.
func TestAPutThatIsRepeatedHasItsContentAlone(t *testing.T) {
	s := s3test.New(t, "bkt")
	var mu sync.Mutex
	tries := make(map[string]int)
	s.Inject(func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		tries[r.URL.Path]++
		n := tries[r.URL.Path]
		mu.Unlock()
		number := 0
		if _, err := fmt.Sscanf(r.URL.Path, "/bkt/%d", &number); err != nil || n > 1+number%2 {
			return false
		}
		_, _ = io.CopyN(io.Discard, r.Body, int64(number)<<12)
		if number%3 == 0 {
			s3test.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
			return true
		}
		panic(http.ErrAbortHandler)
	})
	s.Setenv(t)
	client, err := FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	var puts errgroup.Group
	const objects = 100
	for i := range objects {
		puts.Go(func() error {
			data := random(uint64(i), 1<<19)
			want := bytes.Clone(data)
			if _, err := client.Put(t.Context(), "bkt", fmt.Sprint(i), data, Any); err != nil {
				return err
			}
			clear(data)
			if got := s.Objects("bkt")[fmt.Sprint(i)]; !bytes.Equal(got, want) {
				return fmt.Errorf("object %d has other bytes", i)
			}
			return nil
		})
	}
	if err := puts.Wait(); err != nil {
		t.Error(err)
	}
	for i := range objects {
		if n := tries[fmt.Sprintf("/bkt/%d", i)]; n != 2+i%2 {
			t.Errorf("object %d took %d requests, want %d", i, n, 2+i%2)
		}
	}
}

func TestAPutIsRepeatedAfterErrorsThatPass(t *testing.T) {
	s := s3test.New(t, "bkt")
	s.Setenv(t)
	client, err := FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status int
		code   string
		want   int // requests
	}{
		{http.StatusServiceUnavailable, "SlowDown", 2}, {http.StatusBadRequest, "RequestTimeout", 2}, {http.StatusBadGateway, "Other", 2},
		{http.StatusForbidden, "AccessDenied", 1}, {http.StatusBadRequest, "XAmzContentSHA256Mismatch", 1}, {http.StatusPreconditionFailed, "PreconditionFailed", 1},
	} {
		requests := 0
		s.Inject(func(w http.ResponseWriter, _ *http.Request) bool {
			if requests++; requests == 1 {
				s3test.Refuse(w, c.status, c.code)
			}
			return requests == 1
		})
		_, err := client.Put(t.Context(), "bkt", "x", []byte("content"), Any)
		if requests != c.want || (err == nil) != (c.want > 1) {
			t.Errorf("%d %s: %d requests, want %d; %v", c.status, c.code, requests, c.want, err)
		}
	}
}

func TestAPutEndsWithItsContext(t *testing.T) {
	s := s3test.New(t, "bkt")
	s.Setenv(t)
	client, err := FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	requests := 0
	s.Inject(func(http.ResponseWriter, *http.Request) bool {
		requests++
		cancel()
		panic(http.ErrAbortHandler)
	})
	if _, err := client.Put(ctx, "bkt", "x", random(1, 1<<20), Any); !errors.Is(err, context.Canceled) || requests != 1 {
		t.Errorf("%v after %d requests", err, requests)
	}
}

// A store that does not check what arrives is no excuse: readers find mixed bytes by the checksums of the blocks.
func TestBytesThatWereMixedOnTheirWayAreFound(t *testing.T) {
	s := s3test.New(t, "bkt")
	s.Setenv(t)
	client, err := FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	data := random(1, 3*blockSize)
	s.Inject(func(_ http.ResponseWriter, r *http.Request) bool {
		mixed := bytes.Clone(data)
		copy(mixed[blockSize:], data[:blockSize])
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body = io.NopCloser(bytes.NewReader(mixed))
		return false
	})
	if _, err := client.Put(t.Context(), "bkt", "x", data, Any); err == nil {
		t.Error("the store took bytes that do not have the checksum of the request")
	}
	s.Inject(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			mixed := bytes.Clone(data)
			copy(mixed[blockSize:], data[:blockSize])
			r.Body = io.NopCloser(bytes.NewReader(mixed))
			r.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
		}
		return false
	})
	if _, err := client.Put(t.Context(), "bkt", "x", data, Any); err != nil {
		t.Fatal(err)
	}
	s.Inject(nil)
	if _, _, err := client.Get(t.Context(), "bkt", "x", 1<<20); err == nil {
		t.Error("mixed bytes were read")
	}
}
