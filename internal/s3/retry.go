package s3

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
)

// Pauses between the tries of a put: a random part of a time that doubles.
const (
	leastPutPause = 200 * time.Millisecond
	mostPutPause  = time.Second
)

// upload is the content of an object on its way, for one try.
//
// The client would repeat a request itself if it could seek in the body. But [http.Transport] may still read the body of a request that has
// failed: two requests would then take their bytes from one place, and each would get a part. So the body of a try cannot seek, belongs to
// that try, and reads nothing of the content after [upload.end].
type upload struct {
	mu   sync.Mutex
	left []byte
	cut  bool // ended before all was read
}

var errEnded = errors.New("the request has ended")

// Read reads what is left.
func (u *upload) Read(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.cut:
		return 0, errEnded
	case len(u.left) == 0:
		return 0, io.EOF
	}
	n := copy(p, u.left)
	u.left = u.left[n:]
	return n, nil
}

// end has all later reads fail, unless everything was read. Nobody reads the content when it returns.
func (u *upload) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.cut, u.left = len(u.left) > 0, nil
}

// retry calls try until it succeeds, fails for good, has been called [maxRetries] times, or ctx ends. Without an end of ctx it returns the
// last error.
func retry(ctx context.Context, try func() error) error {
	pause, region := leastPutPause, ""
	for n := 1; ; n++ {
		err := try()
		if err == nil || ctx.Err() != nil || n == maxRetries || !isPassing(err) && !isElsewhere(err, &region) {
			return err
		}
		wait := time.NewTimer(rand.N(pause))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		}
		pause = min(2*pause, mostPutPause)
	}
}

// passingCodes are the errors of a store after which a request is worth repeating.
var passingCodes = []string{
	"RequestError", "RequestTimeout", "Throttling", "ThrottlingException", "RequestLimitExceeded", "RequestThrottled", "InternalError",
	"ExpiredToken", "ExpiredTokenException", "SlowDown", "SlowDownWrite", "SlowDownRead",
}

// statusClosed and statusUnknown are answers of proxies: nginx, Cloudflare.
const (
	statusClosed  = 499
	statusUnknown = 520
)

var passingStatus = []int{
	http.StatusRequestTimeout, http.StatusTooManyRequests, statusClosed, http.StatusInternalServerError, http.StatusBadGateway,
	http.StatusServiceUnavailable, http.StatusGatewayTimeout, statusUnknown,
}

// isPassing reports whether the same request may succeed later: the rule of the client for requests that it repeats itself.
func isPassing(err error) bool {
	var answer minio.ErrorResponse
	if errors.As(err, &answer) && (answer.StatusCode != 0 || answer.Code != "") {
		return slices.Contains(passingCodes, answer.Code) || slices.Contains(passingStatus, answer.StatusCode)
	}
	var unknown x509.UnknownAuthorityError
	return !errors.As(err, &unknown) && !errors.Is(err, http.ErrSchemeMismatch)
}

// regionCodes are the errors of a store whose bucket is in another region. The client has noted that region then, and signs for it.
var regionCodes = []string{"AuthorizationHeaderMalformed", minio.InvalidRegion, minio.AccessDenied}

// isElsewhere reports whether a store said that the bucket is in another region than the one that it said before.
func isElsewhere(err error, region *string) bool {
	var answer minio.ErrorResponse
	if !errors.As(err, &answer) || answer.Region == *region || !slices.Contains(regionCodes, answer.Code) {
		return false
	}
	*region = answer.Region
	return true
}
