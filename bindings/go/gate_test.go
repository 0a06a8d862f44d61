package librl

import (
	"testing"
	"time"
)

func TestAGateThatIsShutLetsNobodyIn(t *testing.T) {
	var g gate
	g.shut()
	if g.enter() != nil {
		t.Error("one came in")
	}
}

// Between the look at a lane and the count it may be shut.
func TestWhoComesTooLateIsNotCounted(t *testing.T) {
	var g gate
	g.shut()
	for i := range g.lanes {
		if g.lanes[i].begin() || g.lanes[i].calls.Load() != isShut {
			t.Error("one came in, or is counted")
		}
	}
}

func TestAGateIsShutOnceAllHaveLeft(t *testing.T) {
	var g gate
	inside := g.enter()
	isShut := make(chan struct{})
	go func() { g.shut(); close(isShut) }()
	select {
	case <-isShut:
		t.Fatal("while one was in")
	case <-time.After(20 * time.Millisecond):
	}
	inside.leave()
	<-isShut
}
