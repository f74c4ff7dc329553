package s3

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/minio/minio-go/v7"
)

// checksums is the metadata of an object with the CRC-32C of each block of [blockSize], big-endian, base64. Amazon permits 2 KiB of metadata:
// objects of up to 64 MiB have it.
const checksums = "Meridian-Crc32c"

const maxChecked = 64 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrChanged says that an object is not the one that was to be replaced.
var ErrChanged = errors.New("another one has replaced the object meanwhile")

// Any replaces whatever object there is.
const Any = "any"

// Put stores an object, which appears whole or not at all. The store checks the SHA-256 of what arrives, and readers the checksums of blocks
// that go with it. With a replaced tag, "" for none, the object is only stored in the place of that one: otherwise the error is [ErrChanged].
// It returns the tag of the new object. Requests that fail for a while are repeated. The data is the caller's again when Put returns.
func (c *Client) Put(ctx context.Context, bucket, key string, data []byte, replaced string) (tag string, err error) {
	sum := sha256.Sum256(data)
	options := minio.PutObjectOptions{ContentType: "application/octet-stream", DisableContentSha256: true}
	if len(data) > 0 && len(data) <= maxChecked {
		options.UserMetadata = map[string]string{checksums: base64.RawStdEncoding.EncodeToString(sums(data))}
	}
	switch replaced {
	case Any:
	case "":
		options.SetMatchETagExcept("*")
	default:
		options.SetMatchETag(replaced)
	}
	err = retry(ctx, func() error {
		body := &upload{left: data}
		defer body.end()
		info, err := c.core.PutObject(ctx, bucket, key, body, int64(len(data)), "", hex.EncodeToString(sum[:]), options)
		tag = info.ETag
		return err
	})
	if err != nil {
		if err = c.explain(bucket, key, err); errors.Is(err, errReplaced) {
			err = fmt.Errorf("s3://%s/%s: %w", bucket, key, ErrChanged)
		}
		return "", err
	}
	return tag, nil
}

// sums returns the CRC-32C of each block.
func sums(data []byte) []byte {
	var out []byte
	for len(data) > 0 {
		n := min(len(data), blockSize)
		out = binary.BigEndian.AppendUint32(out, crc32.Checksum(data[:n], castagnoli))
		data = data[n:]
	}
	return out
}

// blockSums are the checksums that came with a range of an object; empty for none.
type blockSums []byte

func sumsOf(metadata map[string]string) blockSums {
	b, err := base64.RawStdEncoding.DecodeString(metadata[checksums])
	if err != nil {
		return nil
	}
	return b
}

// check returns why a block is not what was stored.
func (s blockSums) check(number int64, data []byte) error {
	at := number * 4
	if len(s) == 0 {
		return nil
	}
	if at+4 > int64(len(s)) || binary.BigEndian.Uint32(s[at:]) != crc32.Checksum(data, castagnoli) {
		return errors.New("the content is not what its checksum says")
	}
	return nil
}

// Get returns the content of a small object and its tag.
func (c *Client) Get(ctx context.Context, bucket, key string, most int64) (data []byte, tag string, err error) {
	body, info, _, err := c.core.GetObject(ctx, bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, "", c.explain(bucket, key, err)
	}
	defer body.Close()
	if info.Size > most {
		return nil, "", fmt.Errorf("s3://%s/%s has %d bytes, of which %d are permitted", bucket, key, info.Size, most)
	}
	data = make([]byte, info.Size)
	if _, err := io.ReadFull(body, data); err != nil {
		return nil, "", fmt.Errorf("s3://%s/%s: %w", bucket, key, noEOF(err))
	}
	for s, n := sumsOf(info.UserMetadata), int64(0); n*blockSize < info.Size; n++ {
		if err := s.check(n, data[n*blockSize:min((n+1)*blockSize, info.Size)]); err != nil {
			return nil, "", fmt.Errorf("s3://%s/%s at offset %d: %w", bucket, key, n*blockSize, err)
		}
	}
	return data, info.ETag, nil
}

// Delete removes an object; one that is not there is no error.
func (c *Client) Delete(ctx context.Context, bucket, key string) error {
	if err := c.core.RemoveObject(ctx, bucket, key, minio.RemoveObjectOptions{}); err != nil {
		return c.explain(bucket, key, err)
	}
	return nil
}

// ListAll calls f for all objects below a prefix.
func (c *Client) ListAll(ctx context.Context, bucket, prefix string, f func(Object) error) error {
	return c.list(ctx, bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}, f)
}
