package view

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
)

// guard restricts requests to the user who started the server.
//
// A trace shows what programs do. Other users of the machine can connect to loopback, and pages of the web can make a
// browser do so. Against both:
//
//   - the path begins with a secret of 128 bits. The page sends no Referer, and the secret is compared in constant time;
//     a request without it is answered like one for a path that does not exist;
//   - other users see the secret in the list of processes while a browser is started with it. So where the system
//     names the owner of a connection, it must be the same user (foreign); elsewhere the browser is given a file that
//     only its user can read (OpenURL);
//   - DNS rebinding: Host must be an address, or a name known to be this machine's;
//   - cross-site requests and embedding are refused, by Origin, Sec-Fetch-Site and the headers of answers;
//   - only GET and HEAD are answered, and PUT of notes where they are kept in a file. That is for the page itself: a browser must say so
//     (Origin), which no form and no image does, and must be on this machine. Those who read from elsewhere cannot write.
type guard struct {
	secret string
	names  []string // that this machine is known by
	writes bool     // notes are written
	next   http.Handler
}

// newGuard stands before a handler; listen is the host that the server was asked to listen on.
func newGuard(listen string, next http.Handler) *guard {
	g := &guard{secret: strings.ToLower(rand.Text()), names: []string{"localhost"}, next: next}
	if listen != "" {
		g.names = append(g.names, listen)
	}
	if name, err := os.Hostname(); err == nil && name != "" {
		g.names = append(g.names, name)
	}
	return g
}

// path is where the page is.
func (g *guard) path() string { return "/" + g.secret + "/" }

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin-allow-popups") // the page gives a trace to a tab of ui.perfetto.dev
	_, asked, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	writes := g.writes && r.Method == http.MethodPut && "/"+asked == notesPath
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead && !writes:
		h.Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "only GET and HEAD are answered")
		return
	case !g.isOurs(r.Host):
		refuse(w, http.StatusMisdirectedRequest, "this server is not known by that name; use its address")
		return
	case !sameOrigin(r):
		refuse(w, http.StatusForbidden, "another site's page may not ask here")
		return
	case ofPeer(r.Context()).stranger:
		refuse(w, http.StatusForbidden, "another user's timeline")
		return
	case writes && !byThePage(r):
		refuse(w, http.StatusForbidden, "notes are written by their own page alone")
		return
	case writes && !ofPeer(r.Context()).here:
		refuse(w, http.StatusForbidden, "notes are written on the machine that has the file alone; use ssh -L")
		return
	}
	secret, rest, found := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if !found || subtle.ConstantTimeCompare([]byte(secret), []byte(g.secret)) != 1 {
		refuse(w, http.StatusNotFound, "nothing is here; use the whole address that meridian view printed")
		return
	}
	inner := new(http.Request)
	*inner = *r
	u := *r.URL
	u.Path, u.RawPath = "/"+rest, ""
	inner.URL = &u
	g.next.ServeHTTP(w, inner)
}

// isOurs reports whether a Host header names this machine: an address, which no name server can turn, or one of its
// names.
func (g *guard) isOurs(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	for _, n := range g.names {
		if strings.EqualFold(strings.TrimSuffix(name, "."), n) {
			return true
		}
	}
	return false
}

// byThePage reports whether a request that writes comes from the page itself, in words that no page of another site can say.
func byThePage(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return r.Header.Get("Origin") == "http://"+r.Host && (site == "" || site == "same-origin") && r.Header.Get("Content-Type") == "application/json"
}

// sameOrigin reports whether a request comes from the page itself or from a person: browsers say so, other programs say
// nothing. The page alone may be opened from elsewhere, by a link or a file.
func sameOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}
