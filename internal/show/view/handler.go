package view

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sync/errgroup"
)

// Limits of what is asked for at once: a page asks for far less, and a mistake must not cost the memory of a machine.
const (
	maxKeys     = 256
	maxAnswer   = 16 << 20 // bytes of tiles
	maxEvents   = 1024
	maxFound    = 1000
	maxText     = 1000    // bytes of what is searched for
	maxLevel    = 62      // levels: instants are int64
	minCompress = 4 << 10 // what is smaller is not compressed
)

// Handler answers the page at / and what it asks for under /api/. It does not check the sender: see [Server].
func Handler(data Data) http.Handler { return HandlerWithNotes(data, nil) }

// HandlerWithNotes also answers and replaces the notes of a file, unless that is nil.
func HandlerWithNotes(data Data, notes *NoteFile) http.Handler {
	h := &handler{data, notes}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", h.page)
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for name, answer := range map[string]func(context.Context, url.Values) ([]byte, string, error){
		"about": h.about, "tiles": h.tiles, "events": h.events, "search": h.search, "violations": h.violations, "plots": h.plots,
		"requests": h.requests, "path": h.path, "numbers": h.numbers, "states": h.states, "against": h.against, "messages": h.messages, "traffic": h.traffic,
	} {
		mux.HandleFunc("/api/"+name, func(w http.ResponseWriter, r *http.Request) {
			query, err := url.ParseQuery(r.URL.RawQuery)
			if err != nil {
				refuse(w, http.StatusBadRequest, "invalid query string")
				return
			}
			if !h.ready() && name == "about" && query.Has("wait") { // a page that waits, which is no fault
				w.WriteHeader(http.StatusNoContent)
				return
			}
			if !h.ready() {
				refuse(w, http.StatusServiceUnavailable, errNothing.Error())
				return
			}
			body, kind, err := answer(r.Context(), query)
			var wrong *wrongRequest
			switch {
			case errors.As(err, &wrong):
				refuse(w, http.StatusBadRequest, wrong.reason)
			case err != nil:
				refuse(w, http.StatusInternalServerError, err.Error())
			default:
				reply(w, r, kind, body)
			}
		})
	}
	if live, ok := data.(*Live); ok {
		mux.HandleFunc("/api/live", live.serve)
	}
	if notes != nil {
		mux.HandleFunc(notesPath, h.keepNotes)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "not found") })
	return mux
}

type handler struct {
	data  Data
	notes *NoteFile // nil: none
}

// ready reports whether there is a timeline: one that grows begins with its first event.
func (h *handler) ready() bool {
	live, ok := h.data.(*Live)
	return !ok || live.read(func(*picture) {})
}

// wrongRequest is an error in a parameter of a request.
type wrongRequest struct{ reason string }

func (e *wrongRequest) Error() string { return e.reason }

func wrong(format string, args ...any) error { return &wrongRequest{fmt.Sprintf(format, args...)} }

const (
	kindJSON  = "application/json; charset=utf-8"
	kindBytes = "application/octet-stream"
)

func (h *handler) page(w http.ResponseWriter, r *http.Request) {
	p := thePage()
	var b bytes.Buffer
	if err := p.write(&b, "", true, func(io.Writer) error { return nil }); err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Security-Policy", p.policyOf(true)+"; frame-ancestors 'none'")
	reply(w, r, "text/html; charset=utf-8", b.Bytes())
}

func (h *handler) about(context.Context, url.Values) ([]byte, string, error) {
	if h.notes != nil {
		return marshalled(noted{h.data.About(), true}, nil)
	}
	return marshalled(h.data.About(), nil)
}

func (h *handler) plots(context.Context, url.Values) ([]byte, string, error) {
	return marshalled(h.data.Plots(), nil)
}

func (h *handler) violations(context.Context, url.Values) ([]byte, string, error) {
	return marshalled(h.data.Violations(), nil)
}

func (h *handler) events(_ context.Context, q url.Values) ([]byte, string, error) {
	from, err := number(q, "from", 0, 1<<62, -1)
	if err != nil {
		return nil, "", err
	}
	count, err := number(q, "count", 1, maxEvents, 1)
	if err != nil {
		return nil, "", err
	}
	return marshalled(h.data.Events(from, int(count)))
}

func (h *handler) search(_ context.Context, q url.Values) ([]byte, string, error) {
	text := q.Get("q")
	if text == "" || len(text) > maxText || !utf8.ValidString(text) {
		return nil, "", wrong("q: want 1 to %d bytes of text", maxText)
	}
	after, err := number(q, "after", -1, 1<<62, -1)
	if err != nil {
		return nil, "", err
	}
	limit, err := number(q, "limit", 1, maxFound, 100)
	if err != nil {
		return nil, "", err
	}
	found, err := h.data.Search(text, after, int(limit))
	if err != nil {
		return nil, "", wrong("%v", err)
	}
	return marshalled(found, nil)
}

// fewTiles are made one after the other: what a page that follows the end asks for ten times a second. To wake other processors for them
// takes more than it saves.
const fewTiles = 8

func (h *handler) tiles(ctx context.Context, q url.Values) ([]byte, string, error) {
	text := q.Get("keys")
	if n := strings.Count(text, ",") + 1; n > maxKeys {
		return nil, "", wrong("keys: at most %d tiles at once, not %d", maxKeys, n)
	}
	data, release := h.tileSource()
	defer release()
	hosts, top := data.Reach()
	known, err := number(q, "hosts", 0, 1<<31-1, int64(hosts))
	if err != nil {
		return nil, "", err
	}
	var keys []key
	for s := range strings.SplitSeq(text, ",") {
		k, err := parseKey(s)
		if err != nil {
			return nil, "", err
		}
		if most := min(int(known), hosts); k.group > most || k.level > top {
			return nil, "", wrong("keys: tile %v does not exist: groups go up to %d, levels up to %d", k, most, top)
		}
		if k.group == int(known) {
			k.group = hosts // the links, however many hosts there are by now
		}
		keys = append(keys, k)
	}
	tiles, err := tilesOf(ctx, data, keys)
	if err != nil {
		return nil, "", err
	}
	var b []byte
	for i, tile := range tiles {
		if i > 0 && len(b)+len(tile) > maxAnswer {
			tile = nil // to be asked for again; no tile is empty
		}
		b = appendTile(b, tile)
	}
	return b, kindBytes, nil
}

// tilesOf makes tiles, as many as an answer holds at least.
func tilesOf(ctx context.Context, data tileSource, keys []key) ([][]byte, error) {
	tiles := make([][]byte, len(keys))
	var total atomic.Int64
	one := func(ctx context.Context, i int) (err error) {
		if ctx.Err() != nil { // the request was cancelled
			return ctx.Err()
		}
		if i > 0 && total.Load() >= maxAnswer {
			return nil
		}
		k := keys[i]
		tiles[i], err = data.Tile(k.group, k.level, k.number)
		total.Add(int64(len(tiles[i])))
		return err
	}
	if len(keys) <= fewTiles {
		for i := range keys {
			if err := one(ctx, i); err != nil {
				return nil, err
			}
		}
		return tiles, nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range keys {
		group.Go(func() error { return one(ctx, i) })
	}
	return tiles, group.Wait()
}

// tileSource is what tiles are made of.
type tileSource interface {
	Reach() (hosts, top int)
	Tile(group, level int, number int64) ([]byte, error)
}

// tileSource returns what all tiles of an answer are made of: of a timeline that grows, one picture, to be released.
func (h *handler) tileSource() (data tileSource, release func()) {
	switch d := h.data.(type) {
	case *Live:
		if p, release := d.acquire(); p != nil {
			return p.view, release
		}
		return d, func() {}
	case tileSource:
		return d, func() {}
	}
	return reacher{h.data}, func() {}
}

// reacher asks About what Reach returns.
type reacher struct{ Data }

func (r reacher) Reach() (hosts, top int) {
	a := r.About()
	return len(a.Hosts), a.Top
}

// appendTile appends a tile and its length before it.
func appendTile(b, tile []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(tile))), tile...)
}

// parseKey reads GROUP.LEVEL.NUMBER.
func parseKey(s string) (k key, err error) {
	fields := strings.Split(s, ".")
	if len(fields) != 3 {
		return k, wrong("keys: invalid tile key %q: want GROUP.LEVEL.NUMBER", shown(s))
	}
	group, err1 := strconv.ParseUint(fields[0], 10, 31)
	level, err2 := strconv.ParseUint(fields[1], 10, 8)
	n, err3 := strconv.ParseUint(fields[2], 10, 62)
	if err := errors.Join(err1, err2, err3); err != nil || level > maxLevel {
		return k, wrong("keys: invalid tile key %q: want GROUP.LEVEL.NUMBER", shown(s))
	}
	return key{int(group), int(level), int64(n)}, nil
}

// number reads a parameter from least to most. Without the parameter it returns usual, or an error if usual is below least.
func number(q url.Values, name string, least, most, usual int64) (int64, error) {
	text := q.Get(name)
	if text == "" && (usual >= least) {
		return usual, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, wrong("%s: want a number from %d to %d, not %q", name, least, most, shown(text))
	}
	return n, nil
}

// shown is what of a parameter is repeated in an answer.
func shown(s string) string {
	if len(s) > 40 {
		s = s[:40] + "..."
	}
	return clean(s)
}

func marshalled(v any, err error) ([]byte, string, error) {
	if err != nil {
		return nil, "", err
	}
	b, err := json.Marshal(v)
	return b, kindJSON, err
}

// refuse answers with an error, which is text for a person.
func refuse(w http.ResponseWriter, status int, reason string) {
	b, err := json.Marshal(struct {
		Error string `json:"error"`
	}{reason})
	if err != nil { // it is a string
		b = []byte(`{"error":"?"}`)
	}
	h := w.Header()
	h.Set("Content-Type", kindJSON)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

// reply answers, text compressed as fast as can be; of tiles that would take longer than it saves on most ways, since they
// are dense already. A failed write means that the client is gone, and is ignored.
func reply(w http.ResponseWriter, r *http.Request, kind string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Vary", "Accept-Encoding")
	if len(body) >= minCompress && kind != kindBytes && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		if err != nil {
			panic(err) // the level is one
		}
		_, _ = z.Write(body) // into memory
		_ = z.Close()
		h.Set("Content-Encoding", "gzip")
		body = b.Bytes()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}
