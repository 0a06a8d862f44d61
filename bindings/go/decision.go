package librl

// #include "shim.h"
import "C"

import (
	"math"
	"time"
	"unsafe"
)

// Never is the RetryAfter of a request that can never pass: its cost is more than the limit
// ever gives, or the rule says deny.
const Never time.Duration = math.MaxInt64

// Flags are bits that may be set in a Decision. Later versions may set others.
type Flags uint8

const (
	// Shadow: a limit in shadow mode would have refused the request; DeniedBy says which.
	Shadow Flags = C.RL_FLAG_SHADOW
	// Untracked: there was no room for a counter, and the setting on-full decided.
	Untracked Flags = C.RL_FLAG_UNTRACKED
	// Unlimited: the rule says so. Limit and Remaining are math.MaxUint64.
	Unlimited Flags = C.RL_FLAG_UNLIMITED
)

// A Decision is the answer to a request. The zero Decision is a refusal.
type Decision struct {
	// Whether the request may go on.
	Allowed bool
	Flags   Flags
	// How many limits apply, 0 to 8, and which of them the other fields describe, from 0: the
	// one that refuses longest, else the one with the least left.
	LimitCount, LimitIndex uint8
	// Bit i is set where limit i refuses; of a limit in shadow mode, where it would.
	DeniedBy uint8
	name     [16]byte
	// The limit's quota, or its burst where it has one.
	Limit uint64
	// What is left of it after this request, in whole units.
	Remaining uint64
	// 0 when allowed. Else the time after which the same request passes if nobody else asks,
	// in whole milliseconds; one less would not do. Never if it cannot pass.
	RetryAfter time.Duration
	// The time until the counter is as if never used.
	ResetAfter time.Duration
	// The limit's window.
	Window time.Duration
}

// Has says whether all of these flags are set.
func (d *Decision) Has(flags Flags) bool {
	return d.Flags&flags == flags
}

// Name is that of the limit which the decision describes: what name= says in the rule, else
// "default", or "limit-1" to "limit-8" where several apply. It is empty where none applies.
func (d *Decision) Name() string {
	length := 0
	for length < len(d.name) && d.name[length] != 0 {
		length++
	}
	return string(d.name[:length])
}

// A HeaderStyle says which fields of HTTP tell of a decision.
type HeaderStyle uint32

const (
	// HeadersDraft are RateLimit-Policy and RateLimit, as the IETF has drafted them.
	HeadersDraft HeaderStyle = C.RL_HEADERS_DRAFT
	// HeadersLegacy are X-RateLimit-Limit, X-RateLimit-Remaining and X-RateLimit-Reset.
	HeadersLegacy HeaderStyle = C.RL_HEADERS_LEGACY
)

// Headers are the fields of a response with CRLF after each, Retry-After among them where
// the decision is a refusal that is worth another try. A decision to which no limit applies
// has none.
func (d *Decision) Headers(style HeaderStyle) string {
	var text [192]C.char // always enough
	c := d.toC()
	length := C.rl_decision_headers(&c, C.uint32_t(style), &text[0], C.size_t(len(text)))
	return C.GoStringN(&text[0], C.int(length))
}

func answered(answer *C.shim_answer) (Decision, error) {
	return decisionOf(&answer.decision), errorOf(answer.status, nil)
}

func decisionOf(c *C.rl_decision) Decision {
	return Decision{
		Allowed:    bool(c.allowed),
		Flags:      Flags(c.flags),
		LimitCount: uint8(c.limit_count),
		LimitIndex: uint8(c.limit_index),
		DeniedBy:   uint8(c.denied_by),
		name:       *(*[16]byte)(unsafe.Pointer(&c.name)),
		Limit:      uint64(c.limit),
		Remaining:  uint64(c.remaining),
		RetryAfter: duration(c.retry_after_ms),
		ResetAfter: duration(c.reset_after_ms),
		Window:     duration(c.window_ms),
	}
}

func (d *Decision) toC() C.rl_decision {
	return C.rl_decision{
		allowed:        C.bool(d.Allowed),
		flags:          C.uint8_t(d.Flags),
		limit_count:    C.uint8_t(d.LimitCount),
		limit_index:    C.uint8_t(d.LimitIndex),
		denied_by:      C.uint8_t(d.DeniedBy),
		name:           *(*[16]C.char)(unsafe.Pointer(&d.name)),
		limit:          C.uint64_t(d.Limit),
		remaining:      C.uint64_t(d.Remaining),
		retry_after_ms: milliseconds(d.RetryAfter),
		reset_after_ms: milliseconds(d.ResetAfter),
		window_ms:      milliseconds(d.Window),
	}
}

// duration is Never for what no time.Duration can hold, which is 292 years.
func duration(ms C.uint64_t) time.Duration {
	if ms > math.MaxInt64/C.RL_NS_PER_MS {
		return Never
	}
	return time.Duration(ms) * time.Millisecond
}

func milliseconds(d time.Duration) C.uint64_t {
	if d == Never {
		return C.RL_NEVER
	}
	return C.uint64_t(d / time.Millisecond)
}
