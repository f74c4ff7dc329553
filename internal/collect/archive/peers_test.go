//go:build peers

package archive

import (
	"context"
	"testing"
	"time"

	"meridian/internal/s3/s3test"
)

// TestObjectStoresOfOthersHaveEverythingAfterTheyWereKilled archives into stores of others while they are killed (-9) and started again.
func TestObjectStoresOfOthersHaveEverythingAfterTheyWereKilled(t *testing.T) {
	s3test.EachPeer(t, testPeer)
}

func testPeer(t *testing.T, p *s3test.Peer) {
	l := newLab(t, 77)
	t.Setenv("AWS_ENDPOINT_URL", p.URL)
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
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		go func() {
			defer close(ended)
			if a.Pass(ctx) != nil {
				failed++
			}
		}()
		if round%2 == 1 {
			time.Sleep(time.Duration(l.r.IntN(60)) * time.Millisecond) // into the middle of it
			p.Restart()
		}
		<-ended
		if cancel(); l.r.IntN(3) == 0 {
			a = l.archive("one")
		}
	}
	l.now = l.now.Add(time.Minute)
	for end := time.Now().Add(time.Minute); ; {
		err := a.Pass(t.Context())
		if err == nil {
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
