package view

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func ask(h http.Handler, target string, change func(*http.Request)) *http.Response {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Host = "127.0.0.1:1234"
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestParametersThatCannotBeAreRefusedWithAReason(t *testing.T) {
	h := Handler(&fake{hosts: 2, top: 20, tileBytes: 10, count: 1000})
	many := strings.Repeat("0.1.2,", 256) + "0.1.2"
	for _, target := range []string{
		"/api/tiles", "/api/tiles?keys=", "/api/tiles?keys=1.2", "/api/tiles?keys=1.2.3.4", "/api/tiles?keys=-1.2.3", "/api/tiles?keys=1.63.0",
		"/api/tiles?keys=1.2.x", "/api/tiles?keys=3.2.0", "/api/tiles?keys=0.21.0", "/api/tiles?keys=0.20.0,0.20.-1", "/api/tiles?keys=99999999999.2.3", "/api/tiles?keys=1.2.99999999999999999999", "/api/tiles?keys=1.2.3,", "/api/tiles?keys=" + many,
		"/api/tiles?keys=1.2.9223372036854775807", "/api/tiles?keys=+1.2.3", "/api/tiles?keys=%zz", "/api/tiles?keys=a;b",
		"/api/events", "/api/events?from=-1&count=1", "/api/events?from=1&count=0", "/api/events?from=1&count=1025",
		"/api/events?from=1e3&count=1", "/api/events?from=9223372036854775808&count=1", "/api/events?from=1&count=%00",
		"/api/search", "/api/search?q=", "/api/search?q=" + strings.Repeat("x", 1001), "/api/search?q=%ff", "/api/search?q=a&after=-2",
		"/api/search?q=a&limit=0", "/api/search?q=a&limit=100000", "/api/search?q=a&limit=%3Cscript%3E",
	} {
		r := ask(h, target, nil)
		text := body(t, r)
		var e struct{ Error string }
		if err := json.Unmarshal([]byte(text), &e); r.StatusCode != 400 || err != nil || e.Error == "" || len(text) > 300 {
			t.Errorf("%.60s: %d %s", target, r.StatusCode, text)
		}
		if strings.Contains(text, "<script") {
			t.Errorf("%s: markup comes back: %s", target, text)
		}
	}
	for _, target := range []string{"/api/", "/api/nothing", "/api/about/", "/page.css", "//", "/../etc/passwd"} {
		if r := ask(h, target, nil); r.StatusCode != 404 && r.StatusCode != 307 && r.StatusCode != 301 {
			t.Errorf("%s: %d", target, r.StatusCode)
		}
	}
}

func TestTilesComeInTheOrderOfTheirKeys(t *testing.T) {
	d := &fake{hosts: 2, top: 20, tileBytes: 5000}
	b := []byte(body(t, ask(Handler(d), "/api/tiles?keys=0.20.0,2.3.77", nil)))
	for _, k := range []key{{0, 20, 0}, {2, 3, 77}} {
		want, _ := d.Tile(k.group, k.level, k.number)
		n := binary.LittleEndian.Uint32(b)
		if string(b[4:4+n]) != string(want) {
			t.Errorf("tile %v is another", k)
		}
		b = b[4+n:]
	}
	if len(b) != 0 {
		t.Errorf("%d bytes follow", len(b))
	}
}

// However many tiles are asked for, and however large they are, an answer is bounded; what it leaves out is asked for again.
func TestAnAnswerOfTilesIsBounded(t *testing.T) {
	d := &fake{hosts: 2, top: 20, tileBytes: 3 << 20}
	b := []byte(body(t, ask(Handler(d), "/api/tiles?keys=0.20.0"+strings.Repeat(",1.10.5", maxKeys-1), nil)))
	if len(b) > maxAnswer+4*maxKeys {
		t.Errorf("an answer has %d bytes", len(b))
	}
	sent := 0
	for i := range maxKeys {
		n := binary.LittleEndian.Uint32(b)
		if n != 0 && int(n) != d.tileBytes || i == 0 && n == 0 {
			t.Fatalf("tile %d has %d bytes", i, n)
		}
		if n > 0 {
			sent++
		}
		b = b[4+n:]
	}
	if len(b) != 0 || sent != maxAnswer/d.tileBytes {
		t.Errorf("%d tiles are sent, %d bytes are left", sent, len(b))
	}
}

func TestLongTextIsCompressedForThoseWhoTakeIt(t *testing.T) {
	h := Handler(&fake{hosts: 2, top: 20, count: 1000, text: strings.Repeat("text", 10)})
	takes := func(r *http.Request) { r.Header.Set("Accept-Encoding", "br, gzip") }
	whole := body(t, ask(h, "/api/events?from=0&count=900", nil))
	r := ask(h, "/api/events?from=0&count=900", takes)
	if r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get("Vary") != "Accept-Encoding" {
		t.Fatal(r.Header)
	}
	small, err := gzip.NewReader(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(small); err != nil || string(b) != whole {
		t.Errorf("%v, %d bytes of %d", err, len(b), len(whole))
	}
	if r := ask(h, "/api/events?from=0&count=1", takes); r.Header.Get("Content-Encoding") != "" {
		t.Error("what is short is compressed")
	}
}

func TestThePageRunsNothingButItsOwnCode(t *testing.T) {
	r := ask(Handler(&fake{}), "/", nil)
	policy := r.Header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'sha256-", "style-src 'sha256-", "connect-src 'self'", "base-uri 'none'",
		"form-action 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy lacks %s: %s", part, policy)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Error(policy)
	}
	page := body(t, r)
	p := thePage()
	if !strings.Contains(page, "<script>"+p.script+"</script>") || !strings.Contains(page, "<style>"+p.style+"</style>") {
		t.Error("the digests are not those of the page's code and style")
	}
	if strings.Contains(p.script, "</script") || strings.Contains(p.script, "<!--") || strings.Contains(p.style, "</style") {
		t.Error("the code ends its own element")
	}
	if r.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Error(r.Header)
	}
}

func TestOnlyWhoKnowsTheAddressMayAsk(t *testing.T) {
	g := newGuard("127.0.0.1", Handler(&fake{count: 5}))
	about := g.path() + "api/about"
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for _, test := range []struct {
		name, target string
		change       func(*http.Request)
		want         int
	}{
		{"the page", g.path(), nil, 200},
		{"an answer", about, nil, 200},
		{"by its other name", about, host("localhost:1234"), 200},
		{"IPv6", about, host("[::1]:1234"), 200},
		{"its own page", about, header("Sec-Fetch-Site", "same-origin"), 200},
		{"its own origin", about, header("Origin", "http://127.0.0.1:1234"), 200},
		{"HEAD", about, func(r *http.Request) { r.Method = http.MethodHead }, 200},
		{"a link", g.path(), func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
			r.Header.Set("Sec-Fetch-Dest", "document")
		}, 200},
		{"no secret", "/", nil, 404},
		{"no secret", "/api/about", nil, 404},
		{"half a secret", g.path()[:10] + "/api/about", nil, 404},
		{"another secret", "/" + strings.Repeat("a", 26) + "/api/about", nil, 404},
		{"the secret without an end", strings.TrimSuffix(g.path(), "/"), nil, 404},
		{"another site's name", about, host("evil.example:1234"), 421},
		{"a name that begins as ours", about, host("127.0.0.1.evil.example"), 421},
		{"no name", about, host(""), 421},
		{"another origin", about, header("Origin", "http://evil.example"), 403},
		{"no origin", about, header("Origin", "null"), 403},
		{"another port's page", about, header("Origin", "http://127.0.0.1:999"), 403},
		{"another site", about, header("Sec-Fetch-Site", "cross-site"), 403},
		{"another port", about, header("Sec-Fetch-Site", "same-site"), 403},
		{"in a frame", g.path(), func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
			r.Header.Set("Sec-Fetch-Dest", "iframe")
		}, 403},
		{"another user", about, func(r *http.Request) {
			*r = *r.WithContext(context.WithValue(r.Context(), peerKey{}, peer{stranger: true}))
		}, 403},
		{"POST", about, func(r *http.Request) { r.Method = http.MethodPost }, 405},
		{"OPTIONS", about, func(r *http.Request) { r.Method = http.MethodOptions }, 405},
		{"another method", about, func(r *http.Request) { r.Method = "BREW" }, 405},
	} {
		r := ask(g, test.target, test.change)
		if r.StatusCode != test.want {
			t.Errorf("%s: %d instead of %d", test.name, r.StatusCode, test.want)
		}
		if r.Header.Get("X-Content-Type-Options") != "nosniff" || r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: headers %v", test.name, r.Header)
		}
		if r.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: other sites may read", test.name)
		}
		if text := body(t, r); test.want != 200 && (!json.Valid([]byte(text)) || strings.Contains(text, g.secret)) {
			t.Errorf("%s: %s", test.name, text)
		}
	}
	if len(g.secret) < 26 {
		t.Errorf("the secret has %d letters", len(g.secret))
	}
}
