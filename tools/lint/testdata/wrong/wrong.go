// Package wrong has a mistake for each set of analyzers.
package wrong

import (
	"fmt"
	"sync"
)

func copied(m sync.Mutex) { fmt.Println(&m) }

func compared(a int) bool { return a == a }

func unused() {}

var _ = copied
var _ = compared
