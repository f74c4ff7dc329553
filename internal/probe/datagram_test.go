package probe

import (
	"bytes"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

func TestAnswersCarryWhatTheServerStamped(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		r := reply{
			number:   rapid.Uint32().Draw(t, "number"),
			received: Stamp{Time: clock.HostTime(rapid.Int64Range(-1<<60, 1<<60).Draw(t, "T2")), Error: rapid.Int64Range(0, math.MaxInt32).Draw(t, "error"), Kind: Kernel},
			held:     rapid.Uint32().Draw(t, "held"),
			back:     rapid.Uint8().Draw(t, "back"),
			exact:    rapid.Bool().Draw(t, "exact"),
			status:   rapid.Byte().Draw(t, "status"),
			realtime: rapid.Int64Range(-1<<60, 1<<60).Draw(t, "realtime"),
		}
		ago := rapid.Int64Range(0, longestBack+1000).Draw(t, "ago")
		r.sent = Stamp{Time: r.received.Time - clock.HostTime(ago), Error: rapid.Int64Range(0, math.MaxInt32).Draw(t, "error"), Kind: Hardware}
		var b [Size]byte
		var got reply
		r.put(b[:], 7)
		if !got.get(b[:]) || sessionOf(b[:]) != 7 {
			t.Fatalf("%x is not read", b)
		}
		if got.number != r.number || got.received.Time != r.received.Time || got.held != r.held || got.realtime != r.realtime || got.status != r.status ||
			got.received.Kind != r.received.Kind || got.received.Wall != clock.Add(r.received.Time, r.realtime) {
			t.Fatalf("%+v became %+v", r, got)
		}
		checkError(t, r.received.Error, got.received.Error)
		switch {
		case r.back == 0 || ago > longestBack:
			if got.back != 0 {
				t.Fatalf("%+v became %+v", r, got)
			}
		case got.back != r.back || got.exact != r.exact || got.sent.Time != r.sent.Time || got.sent.Kind != r.sent.Kind:
			t.Fatalf("%+v became %+v", r, got)
		default:
			checkError(t, r.sent.Error, got.sent.Error)
		}
	})
}

// checkError checks that an error arrives not smaller, and not larger by more than a thousandth.
func checkError(t *rapid.T, sent, got int64) {
	if got < sent || got > sent+sent/1024+1 {
		t.Fatalf("an error of %d ns arrives as %d", sent, got)
	}
}

func TestErrorsBeyondTheirFieldArriveAsTheGreatest(t *testing.T) {
	for _, ns := range []int64{-1, math.MaxInt32 + 1, math.MaxInt64} {
		if got := longError(shortError(ns)); got < math.MaxInt32 {
			t.Errorf("%d ns arrives as %d", ns, got)
		}
	}
}

func TestEachBitOfADatagramIsSigned(t *testing.T) {
	code, other := newAuthCode([]byte("key")), newAuthCode([]byte("kez"))
	var b [Size]byte
	begin(b[:], question, 7)
	code.sign(b[:])
	if !code.signed(b[:]) || other.signed(b[:]) {
		t.Error("the code does not tell keys apart")
	}
	for i := range 8 * Size {
		b[i/8] ^= 1 << (i % 8)
		if code.signed(b[:]) {
			t.Errorf("bit %d is not signed", i)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

func TestKeysOfOthersAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	k := NewKey()
	if err := WriteKey(file, k); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadKey(file); err != nil || got != k {
		t.Errorf("%x is read as %x, %v", k, got, err)
	}
	if err := WriteKey(file, NewKey()); err == nil {
		t.Error("a key was overwritten")
	}
	if runtime.GOOS == "windows" {
		return
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o601} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKey(file); err == nil {
			t.Errorf("a key of mode %o was read", mode)
		}
	}
	for _, text := range []string{"", "00", string(bytes.Repeat([]byte("0"), 63)), string(bytes.Repeat([]byte("0"), 65)), string(bytes.Repeat([]byte("x"), 64))} {
		bad := filepath.Join(t.TempDir(), "bad")
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKey(bad); err == nil {
			t.Errorf("%q was read as a key", text)
		}
	}
}

// A set remembers all numbers; the window must agree with it as far as it reaches, and must never take a number twice.
func TestNumbersAreTakenOnce(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		var w window
		known, greatest := map[uint32]bool{}, uint32(0)
		for range 200 {
			n := uint32(int64(greatest) + rapid.Int64Range(-80, 80).Draw(t, "step"))
			if int64(greatest)-80 > int64(n) && n < 80 || n > 1<<31 {
				continue
			}
			want := n > greatest || n > 0 && greatest-n < 64 && !known[n]
			if got := w.add(n); got != want {
				t.Fatalf("%d of %d: taken %t, want %t", n, greatest, got, want)
			}
			known[n], greatest = known[n] || want, max(greatest, n)
		}
	})
}

func TestCookiesAreOfOneAddressAndExpire(t *testing.T) {
	now := time.Now()
	c := newCookies(now)
	nonce := bytes.Repeat([]byte{1}, 16)
	here, there := netip.MustParseAddrPort("10.0.0.1:5"), netip.MustParseAddrPort("10.0.0.1:6")
	given := append([]byte(nil), c.of(now, nonce, here)...)
	switch {
	case !c.valid(now.Add(cookieInterval-1), nonce, here, given):
		t.Error("a cookie is not valid")
	case c.valid(now, nonce, there, given):
		t.Error("a cookie is valid for another port")
	case c.valid(now, bytes.Repeat([]byte{2}, 16), here, given):
		t.Error("a cookie is valid for another nonce")
	case !c.use(nonce) || c.use(nonce):
		t.Error("a nonce is not used once")
	case c.valid(now.Add(cookieInterval), nonce, here, given) && c.use(nonce):
		t.Error("a nonce is used again after its secret became the older one")
	case c.valid(now.Add(2*cookieInterval), nonce, here, given):
		t.Error("a cookie does not expire")
	}
	c = newCookies(now)
	given = append([]byte(nil), c.of(now, nonce, here)...)
	if c.valid(now.Add(time.Hour), nonce, here, given) {
		t.Error("a cookie does not expire over a long pause")
	}
}

func TestNoncesAreForgottenInOrder(t *testing.T) {
	var s seen
	nonce := func(i int) []byte { return []byte{byte(i), byte(i >> 8), byte(i >> 16), 15: 0} }
	for i := range maxSeen + 10 {
		if !s.add(nonce(i)) {
			t.Fatalf("nonce %d is taken for known", i)
		}
	}
	if s.add(nonce(10)) || s.add(nonce(maxSeen+9)) || !s.add(nonce(9)) || len(s.known) != maxSeen {
		t.Errorf("%d nonces are known", len(s.known))
	}
}

func TestBucketsFillWithTime(t *testing.T) {
	now := time.Now()
	b := newBucket(10, now)
	n := 0
	for i := range 1000 { // over 10 s: 10 at once, and 10 per second
		if b.take(now.Add(time.Duration(i) * 10 * time.Millisecond)) {
			n++
		}
	}
	if n < 105 || n > 110 {
		t.Errorf("%d of 1000 in 10 s were taken, want 10 and 10 a second", n)
	}
}
