package librl

// Many requests in one call of C. C may not be handed memory of Go's that holds pointers, so
// the names are packed one behind the other into one text, in buffers that are used again.

// #include "shim.h"
import "C"

import "sync"

// A Request is one of many, for CheckBatch and CheckAll.
type Request struct {
	User, API string
	// Units of the quota that it takes; 0 stands for 1.
	Cost uint64
}

// CheckBatch answers requests as if they were made one after the other: each is charged on
// its own, and the refusal of one does not touch the others. It pays once for the way into C.
//
// The answers are written to the memory of into, which may be nil, and are made anew where
// it is too small. A wrong request makes the call an error that charges none.
func (l *Limiter) CheckBatch(requests []Request, into []Decision) ([]Decision, error) {
	return l.ask(requests, into, func(p *packed) C.rl_status {
		return C.shim_check_batch(l.service, charsOf(p.names), &p.entries[0], p.count(), &p.answers[0])
	})
}

// CheckAll answers up to 8 requests as one decision: every one of them is charged, or none.
// The first result says whether all may pass. If not, Allowed is false in the decisions of
// those that refuse.
func (l *Limiter) CheckAll(requests ...Request) (bool, []Decision, error) {
	decisions, err := l.ask(requests, nil, func(p *packed) C.rl_status {
		return C.shim_check_all(l.service, charsOf(p.names), &p.entries[0], p.count(), &p.answers[0])
	})
	if err == nil && len(requests) == 0 {
		err = errorOf(C.RL_ERR_ARGUMENT, nil)
	}
	allowed := err == nil
	for i := range decisions {
		allowed = allowed && decisions[i].Allowed
	}
	return allowed, decisions, err
}

func (l *Limiter) ask(requests []Request, into []Decision, call func(*packed) C.rl_status) ([]Decision, error) {
	p := pack(requests)
	defer p.release()
	err := l.with(func() error {
		if len(requests) == 0 {
			return nil
		}
		return errorOf(call(p), nil)
	})
	if err != nil {
		return nil, err
	}
	return p.unpack(into), nil
}

type packed struct {
	names   []byte
	entries []C.shim_entry
	answers []C.rl_decision
}

var buffers = sync.Pool{New: func() any { return new(packed) }}

// What a batch of usual size takes is kept for the next one; more goes back to Go.
const keptBytes = 1 << 16

func pack(requests []Request) *packed {
	p := buffers.Get().(*packed)
	p.names, p.entries = p.names[:0], p.entries[:0]
	for i := range requests {
		p.add(&requests[i])
	}
	if cap(p.answers) < len(requests) {
		p.answers = make([]C.rl_decision, len(requests))
	}
	p.answers = p.answers[:len(requests)]
	return p
}

func (p *packed) add(r *Request) {
	p.names = append(append(p.names, r.User...), r.API...)
	cost := r.Cost
	if cost == 0 {
		cost = 1
	}
	p.entries = append(p.entries, C.shim_entry{
		user_len: C.size_t(len(r.User)),
		api_len:  C.size_t(len(r.API)),
		cost:     C.uint64_t(cost),
	})
}

func (p *packed) count() C.size_t {
	return C.size_t(len(p.entries))
}

func (p *packed) unpack(into []Decision) []Decision {
	if cap(into) < len(p.answers) {
		into = make([]Decision, len(p.answers))
	}
	into = into[:len(p.answers)]
	for i := range into {
		into[i] = decisionOf(&p.answers[i])
	}
	return into
}

func (p *packed) release() {
	if cap(p.names) <= keptBytes && cap(p.entries) <= keptBytes/64 {
		buffers.Put(p)
	}
}
