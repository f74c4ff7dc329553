// Package s3test has an object store for tests: buckets in memory behind the part of Amazon's protocol that package s3 uses, with faults.
package s3test

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Key and Secret are what requests must be signed with. The signature itself is not checked.
const (
	Key    = "test-key"
	Secret = "test-secret"
)

// Server is an object store. Fields may be set before the first request.
type Server struct {
	URL  string
	Page int // names in an answer to a listing at most

	http     *httptest.Server
	mu       sync.Mutex
	buckets  map[string]map[string][]byte
	metadata map[string]string // the checksums of an object's blocks, by bucket and key
	requests []string
	fault    Fault
}

// Fault takes the place of the store for a request if it returns true.
type Fault func(w http.ResponseWriter, r *http.Request) bool

// New starts a store with empty buckets, which ends with the test.
func New(t testing.TB, buckets ...string) *Server {
	s := Start(buckets...)
	t.Cleanup(s.Close)
	return s
}

// Start starts a store with empty buckets.
func Start(buckets ...string) *Server {
	s := &Server{Page: 1000, buckets: make(map[string]map[string][]byte), metadata: make(map[string]string)}
	for _, b := range buckets {
		s.buckets[b] = make(map[string][]byte)
	}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	return s
}

// Close ends the store.
func (s *Server) Close() { s.http.Close() }

// Environment returns the variables by which a client finds the store.
func (s *Server) Environment() []string {
	return []string{"AWS_ENDPOINT_URL=" + s.URL, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=" + Key, "AWS_SECRET_ACCESS_KEY=" + Secret}
}

// Setenv sets these variables for a test.
func (s *Server) Setenv(t testing.TB) {
	for _, v := range s.Environment() {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
}

// Damage changes a byte of an object and leaves its metadata.
func (s *Server) Damage(bucket, key string, at int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data := slices.Clone(s.buckets[bucket][key])
	data[at] ^= 1
	s.buckets[bucket][key] = data
}

// Put stores an object.
func (s *Server) Put(bucket, key string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buckets[bucket][key] = data
}

// Remove removes an object, as a store that loses one does.
func (s *Server) Remove(bucket, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.buckets[bucket], key)
}

// PutDir stores the files of a directory below a prefix.
func (s *Server) PutDir(dir, bucket, prefix string) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		s.Put(bucket, prefix+filepath.ToSlash(name), data)
		return err
	})
}

// Objects returns the objects of a bucket.
func (s *Server) Objects(bucket string) map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.buckets[bucket])
}

// Requests returns the requests so far, as "GET /bucket/key bytes=0-99".
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Inject has f see all requests from now on; nil ends that.
func (s *Server) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Range")))
	fault := s.fault
	s.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	_, exists := s.buckets[bucket]
	data, stored := s.buckets[bucket][key]
	sums := s.metadata[bucket+"/"+key]
	s.mu.Unlock()
	switch {
	case !strings.Contains(r.Header.Get("Authorization"), "Credential="+Key+"/"):
		Refuse(w, http.StatusForbidden, "AccessDenied")
	case !exists:
		Refuse(w, http.StatusNotFound, "NoSuchBucket")
	case r.Method == http.MethodPut:
		s.put(w, r, bucket, key)
	case key == "" && r.Method == http.MethodGet:
		s.list(w, r.URL.Query(), bucket)
	case r.Method == http.MethodDelete:
		s.mu.Lock()
		delete(s.buckets[bucket], key)
		s.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case !stored && key != "":
		Refuse(w, http.StatusNotFound, "NoSuchKey")
	default:
		if sums != "" {
			w.Header().Set(checksums, sums)
		}
		w.Header().Set("ETag", tag(data))
		w.Header().Set("Last-Modified", modified.Format(http.TimeFormat))
		http.ServeContent(w, r, "", modified, strings.NewReader(string(data)))
	}
}

// checksums is the metadata that is kept with objects.
const checksums = "X-Amz-Meta-Meridian-Crc32c"

// modified is when all objects were stored.
var modified = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func tag(data []byte) string { return fmt.Sprintf("\"%x\"", md5.Sum(data)) }

// Refuse answers a request with an error.
func Refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>refused by the test</Message></Error>", code)
}

// put stores the body of a request if it has the checksums that its headers say, and if the object is the one that it should replace.
func (s *Server) put(w http.ResponseWriter, r *http.Request, bucket, key string) {
	data, err := io.ReadAll(r.Body)
	sum := sha256.Sum256(data)
	md := md5.Sum(data)
	switch said := r.Header.Get("X-Amz-Content-Sha256"); {
	case err != nil || int64(len(data)) != r.ContentLength:
		Refuse(w, http.StatusBadRequest, "IncompleteBody")
		return
	case strings.HasPrefix(said, "STREAMING-"):
		Refuse(w, http.StatusNotImplemented, "NotImplemented")
		return
	case said != "UNSIGNED-PAYLOAD" && said != hex.EncodeToString(sum[:]):
		Refuse(w, http.StatusBadRequest, "XAmzContentSHA256Mismatch")
		return
	}
	if said := r.Header.Get("Content-Md5"); said != "" && said != base64.StdEncoding.EncodeToString(md[:]) {
		Refuse(w, http.StatusBadRequest, "BadDigest")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, stored := s.buckets[bucket][key]
	if r.Header.Get("If-None-Match") == "*" && stored || r.Header.Get("If-Match") != "" && (!stored || r.Header.Get("If-Match") != tag(old)) {
		Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	s.buckets[bucket][key] = data
	s.metadata[bucket+"/"+key] = r.Header.Get(checksums)
	w.Header().Set("ETag", tag(data))
}

type listed struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	Name, Prefix          string
	KeyCount, MaxKeys     int
	IsTruncated           bool
	EncodingType          string
	NextContinuationToken string `xml:",omitempty"`
	Contents              []content
	CommonPrefixes        []common
}

type content struct {
	Key, LastModified, ETag string
	Size                    int
}

type common struct{ Prefix string }

// list answers ListObjectsV2.
func (s *Server) list(w http.ResponseWriter, q url.Values, bucket string) {
	if q.Get("list-type") != "2" {
		Refuse(w, http.StatusNotImplemented, "NotImplemented")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := listed{Name: bucket, Prefix: q.Get("prefix"), EncodingType: "url"}
	seen := make(map[string]bool)
	for _, key := range slices.Sorted(maps.Keys(s.buckets[bucket])) {
		rest, below := strings.CutPrefix(key, out.Prefix)
		if !below {
			continue
		}
		name := key
		if first, _, nested := strings.Cut(rest, "/"); q.Get("delimiter") == "/" && nested {
			name = out.Prefix + first + "/"
		}
		if seen[name] || name <= q.Get("continuation-token") {
			continue
		}
		if len(seen) == s.Page {
			out.IsTruncated = true
			break
		}
		seen[name] = true
		out.NextContinuationToken = name
		if data := s.buckets[bucket][key]; name == key {
			out.Contents = append(out.Contents, content{url.QueryEscape(key), modified.Format(time.RFC3339), tag(data), len(data)})
		} else {
			out.CommonPrefixes = append(out.CommonPrefixes, common{url.QueryEscape(name)})
		}
	}
	if !out.IsTruncated {
		out.NextContinuationToken = ""
	}
	out.KeyCount = len(seen)
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(out) // the client is told by what is missing
}
