package dirlock

import (
	"os"
	"testing"
)

func TestTheHolderOfALockIsToldAsLongAsItHasIt(t *testing.T) {
	dir := t.TempDir()
	if pid, known := Holder(dir); known {
		t.Errorf("process %d holds a lock that nobody has taken", pid)
	}
	lock, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if pid, known := Holder(dir); !known || pid != os.Getpid() {
		t.Errorf("holder %d, %v; it is %d", pid, known, os.Getpid())
	}
	lock.Close()
	if pid, known := Holder(dir); known {
		t.Errorf("process %d holds a lock that was given back", pid)
	}
}

func TestOnlyLinesOfHoldersOfThisInodeCount(t *testing.T) {
	text := "1: POSIX  ADVISORY  WRITE 11 08:01:4711 0 EOF\n2: FLOCK  ADVISORY  WRITE 12 08:01:14711 0 EOF\n" +
		"3: FLOCK  ADVISORY  WRITE 0 08:01:4711 0 EOF\n4: FLOCK  ADVISORY  WRITE 13 08:01:4711 0 EOF\n4: -> FLOCK  ADVISORY  WRITE 14 08:01:4711 0 EOF\n"
	if pid, known := holderIn([]byte(text), 4711); !known || pid != 13 {
		t.Errorf("%d, %v", pid, known)
	}
	if pid, known := holderIn([]byte(text), 711); known {
		t.Errorf("%d holds a lock on another inode", pid)
	}
}
