//go:build !race

package librl_test

// The race detector allocates, so this is left to the run without it.

import (
	"testing"

	"librl"
)

func TestChecksAllocateNothing(t *testing.T) {
	l := open(t, hundred)
	user, api := []byte("alice"), []byte("/a")
	requests, into := make([]librl.Request, 16), make([]librl.Decision, 16)
	for what, call := range map[string]func(){
		"Allow":      func() { l.Allow("alice", "/a") },
		"Check":      func() { l.Check("alice", "/a") },
		"CheckBytes": func() { l.CheckBytes(user, api, 2) },
		"Peek":       func() { l.Peek("alice", "/a", 1) },
		"Charge":     func() { l.Charge("alice", "/a", 1) },
		"CheckBatch": func() { l.CheckBatch(requests, into) },
	} {
		equal(t, what, testing.AllocsPerRun(100, call), 0)
	}
}
