package librl

// Who waits, in the order in which they came: a line for each pair of a user and an API.
// It knows nothing of limits or time.

import (
	"container/list"
	"sync"
	"sync/atomic"
)

type pair struct {
	user, api string
}

type lines struct {
	mutex   sync.Mutex
	of      map[pair]*list.List
	waiting atomic.Int64
}

// A place in a line. first is closed when nobody is in front.
type place struct {
	pair    pair
	first   chan struct{}
	element *list.Element
}

// empty says, without a lock, whether nobody waits for anything.
func (l *lines) empty() bool {
	return l.waiting.Load() == 0
}

func (l *lines) join(p pair) *place {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.waiting.Add(1)
	if l.of == nil {
		l.of = make(map[pair]*list.List)
	}
	line := l.of[p]
	if line == nil {
		line = list.New()
		l.of[p] = line
	}
	joined := &place{pair: p, first: make(chan struct{})}
	joined.element = line.PushBack(joined)
	if line.Len() == 1 {
		close(joined.first)
	}
	return joined
}

// leave gives up a place, wherever in the line it is; the next is first where it was.
func (l *lines) leave(p *place) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.waiting.Add(-1)
	line := l.of[p.pair]
	wasFirst := line.Front() == p.element
	line.Remove(p.element)
	if line.Len() == 0 {
		delete(l.of, p.pair)
	} else if wasFirst {
		close(line.Front().Value.(*place).first)
	}
}

// A broadcast wakes all who asked for the next one.
type broadcast struct {
	mutex   sync.Mutex
	waiting chan struct{}
}

// next is closed by the first send after this call.
func (b *broadcast) next() <-chan struct{} {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.waiting == nil {
		b.waiting = make(chan struct{})
	}
	return b.waiting
}

func (b *broadcast) send() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.waiting != nil {
		close(b.waiting)
		b.waiting = nil
	}
}
