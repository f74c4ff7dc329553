// Package dirlock makes one process the owner of a directory: a recorder of its trace, a viewer of its index. The kernel ends the
// lock with the process at the latest, however that ends.
package dirlock

import "errors"

// ErrLocked is the error of a directory that another process has locked.
var ErrLocked = errors.New("another process has locked it")
