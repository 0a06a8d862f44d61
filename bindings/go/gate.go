package librl

// A gate lets calls in until it is shut, and who shuts it waits until all who are in have
// left. Calls are counted in several lanes, each a cache line of its own, so that those of
// several processors do not meet: in a sync.RWMutex they would.

import (
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"
)

const (
	laneBits = 4
	isShut   = -1 << 62
)

type gate struct {
	lanes [1 << laneBits]lane
}

// A lane counts calls, from isShut on once the gate is shut.
type lane struct {
	calls atomic.Int64
	_     [56]byte
}

// enter returns the lane to leave by, or nil when the gate is shut.
func (g *gate) enter() *lane {
	l := g.lane()
	// Looked at first, or those whom a shut gate sends away would hold up who shuts it.
	if l.calls.Load() < 0 || !l.begin() {
		return nil
	}
	return l
}

// begin counts a call, unless the gate has been shut since it was looked at.
func (l *lane) begin() bool {
	if l.calls.Add(1) < 0 {
		l.leave()
		return false
	}
	return true
}

// lane is one by the address of the stack: goroutines that run at the same time have
// different ones.
func (g *gate) lane() *lane {
	var here byte
	stack := uint64(uintptr(unsafe.Pointer(&here))) >> 11
	return &g.lanes[stack*0x9e3779b97f4a7c15>>(64-laneBits)]
}

func (l *lane) leave() {
	l.calls.Add(-1)
}

// shut is called once.
func (g *gate) shut() {
	for i := range g.lanes {
		g.lanes[i].calls.Add(isShut)
	}
	for i := range g.lanes {
		g.lanes[i].drain()
	}
}

func (l *lane) drain() {
	for turn := 0; l.calls.Load() != isShut; turn++ {
		if turn < 100 {
			runtime.Gosched()
		} else {
			time.Sleep(50 * time.Microsecond)
		}
	}
}
