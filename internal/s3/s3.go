// Package s3 reads what lies in an object store that speaks the protocol of Amazon S3, as if it were a directory.
//
//	s3://BUCKET/PREFIX/web/metadata --> FS (fs.FS) --> listings of prefixes, kept while the command runs
//	                                              \-> File: ranges of the object --> blocks of 256 KiB, at most 128 MiB of all files
//
// A command reads its inputs more than once and at several places at a time, so blocks are shared by all open files and the least recently
// used ones go. Where a file is read from block to block, ranges of up to 4 MiB are requested before they are needed. Nothing is copied to
// a disk.
//
// All of a run sees one state: a listing is asked for once, and a range is requested of the very object that was listed (If-Match). An
// object that was replaced meanwhile is an error, not a mixture.
//
// Requests are signed by version 4 with keys from the environment or the files of the AWS tools (environment.go). The protocol:
// https://docs.aws.amazon.com/AmazonS3/latest/API.
package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
)

// Client makes requests to one store. Any goroutine may call its methods.
type Client struct {
	core     *minio.Core
	endpoint string
}

// Object is one of a bucket, as it was listed.
type Object struct {
	Bucket, Key string
	ObjectInfo
}

// ObjectInfo is what a store says of an object.
type ObjectInfo struct {
	Size     int64
	ETag     string // changes with the content
	Modified int64  // Unix time, seconds
}

// Split returns bucket and key of a path without its scheme.
func Split(name string) (bucket, key string) {
	bucket, key, _ = strings.Cut(name, "/")
	return bucket, key
}

// Location reads an address s3://BUCKET/PREFIX. The prefix has no slash at its ends.
func Location(address string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(address, "s3://")
	bucket, prefix = Split(strings.TrimPrefix(path.Clean("/"+rest), "/"))
	if !ok || bucket == "" {
		return "", "", fmt.Errorf("%q is no address of an object store: want s3://BUCKET/PREFIX", address)
	}
	return bucket, prefix, nil
}

// Head describes an object.
func (c *Client) Head(ctx context.Context, bucket, key string) (Object, error) {
	info, err := c.core.StatObject(ctx, bucket, key, minio.StatObjectOptions{})
	if err != nil {
		return Object{}, c.explain(bucket, key, err)
	}
	return object(bucket, key, info), nil
}

func object(bucket, key string, info minio.ObjectInfo) Object {
	return Object{Bucket: bucket, Key: key, ObjectInfo: ObjectInfo{Size: info.Size, ETag: info.ETag, Modified: info.LastModified.Unix()}}
}

// Range opens the bytes from offset up to end of an object, if it still is the one that was listed, with the checksums of its blocks, if it
// has any.
func (c *Client) Range(ctx context.Context, o *Object, offset, end int64) (io.ReadCloser, blockSums, error) {
	var options minio.GetObjectOptions
	err := options.SetRange(offset, end-1)
	if err == nil && o.ETag != "" {
		err = options.SetMatchETag(o.ETag)
	}
	if err != nil {
		return nil, nil, err
	}
	body, info, _, err := c.core.GetObject(ctx, o.Bucket, o.Key, options)
	if err != nil {
		return nil, nil, c.explain(o.Bucket, o.Key, err)
	}
	if info.Size != end-offset {
		body.Close()
		return nil, nil, fmt.Errorf("s3://%s/%s: the store answered a request of %d bytes with %d: does it know ranges?", o.Bucket, o.Key, end-offset, info.Size)
	}
	return body, sumsOf(info.UserMetadata), nil
}

// List calls f for the objects directly below a prefix, which ends in a slash or is empty, and for the prefixes that more slashes make:
// these have a key that ends in a slash. It goes on until f returns an error.
func (c *Client) List(ctx context.Context, bucket, prefix string, f func(Object) error) error {
	return c.list(ctx, bucket, minio.ListObjectsOptions{Prefix: prefix}, f)
}

func (c *Client) list(ctx context.Context, bucket string, options minio.ListObjectsOptions, f func(Object) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for info := range c.core.ListObjectsIter(ctx, bucket, options) {
		if info.Err != nil {
			return c.explain(bucket, options.Prefix, info.Err)
		}
		if err := f(object(bucket, info.Key, info)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// errReplaced says that an object is not the one that was listed.
var errReplaced = errors.New("the object was replaced or removed while it was read: run the command again")

// explain says what to do about an error of a request. Of what is not there it is [fs.ErrNotExist].
func (c *Client) explain(bucket, key string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	var answer minio.ErrorResponse
	switch {
	case !errors.As(err, &answer) || answer.StatusCode == 0 && answer.Code == "":
		err = fmt.Errorf("%s: %w", c.endpoint, err)
	case answer.Code == minio.NoSuchBucket:
		err = fmt.Errorf("%s has no bucket %q: %w", c.endpoint, bucket, fs.ErrNotExist)
	case answer.Code == minio.NoSuchKey, answer.StatusCode == http.StatusNotFound:
		err = fs.ErrNotExist
	case answer.StatusCode == http.StatusPreconditionFailed:
		err = errReplaced
	case answer.StatusCode == http.StatusForbidden, answer.StatusCode == http.StatusUnauthorized:
		err = fmt.Errorf("%s refuses access (%s): set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE", c.endpoint, answer.Code)
	case answer.StatusCode/100 == 3, answer.Code == "AuthorizationHeaderMalformed":
		err = fmt.Errorf("%s: %s: set AWS_REGION to the bucket's region", c.endpoint, answer.Message)
	default:
		err = fmt.Errorf("%s: %s (%d %s)", c.endpoint, answer.Message, answer.StatusCode, answer.Code)
	}
	return &fs.PathError{Op: "open", Path: "s3://" + path.Join(bucket, key), Err: err}
}
