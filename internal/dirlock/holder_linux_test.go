package dirlock

import (
	"os"
	"slices"
	"testing"
)

func TestTheHolderOfALockIsToldAsLongAsItHasIt(t *testing.T) {
	dir := t.TempDir()
	if slices.Contains(Holders(dir), os.Getpid()) {
		t.Error("this process holds a lock that nobody has taken")
	}
	lock, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	told := false
	for range 100 { // other tests' locks come and go
		told = told || slices.Contains(Holders(dir), os.Getpid())
	}
	if !told {
		t.Errorf("the holders are %v, without process %d", Holders(dir), os.Getpid())
	}
	lock.Close()
	if slices.Contains(Holders(dir), os.Getpid()) {
		t.Error("this process holds a lock that was given back")
	}
}

func TestOnlyLinesOfHoldersOfThisInodeCount(t *testing.T) {
	text := "1: POSIX  ADVISORY  WRITE 11 08:01:4711 0 EOF\n2: FLOCK  ADVISORY  WRITE 12 08:01:14711 0 EOF\n" +
		"3: FLOCK  ADVISORY  WRITE 0 08:01:4711 0 EOF\n4: FLOCK  ADVISORY  WRITE 13 08:01:4711 0 EOF\n4: -> FLOCK  ADVISORY  WRITE 14 08:01:4711 0 EOF\n"
	if pids := holdersIn([]byte(text), 4711); !slices.Equal(pids, []int{13}) {
		t.Errorf("%v", pids)
	}
	if pids := holdersIn([]byte(text), 711); pids != nil {
		t.Errorf("%v hold a lock on another inode", pids)
	}
}

func TestHoldersOfTheSameInodeNumberOnOtherFileSystemsAreAllTold(t *testing.T) {
	text := "1: FLOCK  ADVISORY  WRITE 12 00:2f:2 0 EOF\n2: FLOCK  ADVISORY  WRITE 13 00:31:2 0 EOF\n"
	if pids := holdersIn([]byte(text), 2); !slices.Equal(pids, []int{12, 13}) {
		t.Errorf("%v", pids)
	}
}
