package s3

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// amazon is where requests go if nothing else is set.
const amazon = "https://s3.amazonaws.com"

// roleTimeout bounds the question for keys of the machine's role, which nobody answers outside of a cloud.
const roleTimeout = 2 * time.Second

// FromEnvironment returns a client for the store that the variables of the AWS tools name. The first that is set counts:
//
//	AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL               the store, https://s3.amazonaws.com without
//	AWS_REGION, AWS_DEFAULT_REGION                      its region; the store is asked for it without
//	AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
//	AWS_PROFILE in ~/.aws/credentials, ~/.aws/config    keys; single sign-on and processes that give keys work as well
//	the role of the machine or container                at Amazon alone, unless AWS_EC2_METADATA_DISABLED is true
//
// Without any keys requests are not signed, as for public buckets.
func FromEnvironment() (*Client, error) {
	endpoint := firstSet("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
	providers := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if endpoint == "" {
		endpoint = amazon
		if !strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
			providers = append(providers, &credentials.IAM{Client: &http.Client{Timeout: roleTimeout}})
		}
	}
	return New(endpoint, firstSet("AWS_REGION", "AWS_DEFAULT_REGION"), credentials.NewChainCredentials(providers))
}

func firstSet(names ...string) string {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	return ""
}

// New returns a client for the store at a URL. The store is asked for its region if that is empty.
func New(endpoint, region string, keys *credentials.Credentials) (*Client, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.User != nil {
		return nil, fmt.Errorf("AWS_ENDPOINT_URL %q: want the URL of an object store, such as https://s3.example.com:9000", endpoint)
	}
	transport, err := minio.DefaultTransport(u.Scheme == "https")
	if err != nil {
		return nil, err
	}
	transport.ResponseHeaderTimeout = stallTimeout
	core, err := minio.NewCore(u.Host, &minio.Options{Creds: keys, Secure: u.Scheme == "https", Region: region, Transport: transport, MaxRetries: maxRetries})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", endpoint, err)
	}
	return &Client{core: core, endpoint: endpoint}, nil
}
