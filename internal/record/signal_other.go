//go:build !unix

package record

import "os"

func signalName(s os.Signal) string { return s.String() }
