package publish

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard restricts requests. Without a token it is for this machine alone, and answers to its addresses and the name localhost only: a page of the
// web can have a browser ask, under another name that a name server gives it (DNS rebinding), or across sites.
type guard struct {
	token string
	next  http.Handler
}

// MinToken is how many bytes a token has at least.
const MinToken = 16

// CheckListen refuses to listen beyond this machine without a token.
func CheckListen(address, token string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("address %q: %w", address, err)
	}
	if token != "" && len(token) < MinToken {
		return fmt.Errorf("the token has %d bytes: make one of %d or more, such as by 'openssl rand -hex 32'", len(token), MinToken)
	}
	if ip, err := netip.ParseAddr(host); (err != nil || !ip.IsLoopback()) && host != "localhost" && token == "" {
		return fmt.Errorf("address %q is reached from other machines, where anybody could read the traces: give a token", address)
	}
	return nil
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD are answered", http.StatusMethodNotAllowed)
	case g.token != "" && !g.authorized(r):
		h.Set("WWW-Authenticate", "Bearer")
		http.Error(w, "send the server's token: Authorization: Bearer TOKEN", http.StatusUnauthorized)
	case g.token == "" && !local(r.Host):
		http.Error(w, "this server is not known by that name; use its address", http.StatusMisdirectedRequest)
	case g.token == "" && !sameSite(r):
		http.Error(w, "another site's page may not ask here", http.StatusForbidden)
	default:
		g.next.ServeHTTP(w, r)
	}
}

// authorized compares hashes: the time that takes says nothing of the token.
func (g *guard) authorized(r *http.Request) bool {
	given, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(g.token))
	return is && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// local says whether a Host header is an address or localhost: no name server can turn these.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || strings.EqualFold(host, "localhost")
}

// sameSite says whether a request comes from no page of another site: browsers say so, other programs say nothing.
func sameSite(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return false
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "same-origin" || site == "none"
}
