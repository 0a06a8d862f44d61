package librl_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"librl"
)

func TestFiftyGoroutinesGetExactlyTheLimit(t *testing.T) {
	for _, algorithm := range []string{"token-bucket", "fixed-window", "sliding-window", "sliding-window-counter"} {
		l := open(t, "default = "+algorithm+",1000,1000d\nclock = monotonic-coarse")
		ways := []func() bool{
			func() bool { return l.Allow("alice", "/a") },
			func() bool { d, _ := l.Check("alice", "/a"); return d.Allowed },
			func() bool { d, _ := l.CheckBytes([]byte("alice"), []byte("/a"), 1); return d.Allowed },
			func() bool { ok, _, _ := l.CheckAll(librl.Request{User: "alice", API: "/a"}); return ok },
			func() bool {
				d, _ := l.CheckBatch([]librl.Request{{User: "alice", API: "/a"}}, nil)
				return d[0].Allowed
			},
		}
		var passed atomic.Int64
		together(50, func(i int) {
			for n := 0; n < 40; n++ {
				if ways[i%len(ways)]() {
					passed.Add(1)
				}
			}
		})
		equal(t, algorithm, passed.Load(), 1000)
		stats, err := l.Stats()
		succeeds(t, err)
		equal(t, "counted as allowed", stats.Allowed, 1000)
		equal(t, "counted as refused", stats.Denied, 1000)
	}
}

func TestADecisionTellsWhatIsLeftAndWhenToTryAgain(t *testing.T) {
	clock := librl.NewManualClock(time.Hour)
	l := open(t, "default = token-bucket,5,10,name=calls", librl.WithClock(clock))
	is := decided(t)

	d := is(l.CheckN("alice", "/a", 4))
	equal(t, "allowed", d.Allowed, true)
	equal(t, "limit", d.Limit, 5)
	equal(t, "remaining", d.Remaining, 1)
	equal(t, "window", d.Window, 10*time.Second)
	equal(t, "reset", d.ResetAfter, 8*time.Second)
	equal(t, "name", d.Name(), "calls")
	equal(t, "limits", d.LimitCount, 1)

	d = is(l.CheckN("alice", "/a", 2))
	equal(t, "allowed", d.Allowed, false)
	equal(t, "retry", d.RetryAfter, 2*time.Second)
	equal(t, "denied by", d.DeniedBy, 1)

	clock.Advance(2*time.Second - time.Millisecond)
	equal(t, "a millisecond before", is(l.Peek("alice", "/a", 2)).Allowed, false)
	clock.Advance(time.Millisecond)
	equal(t, "after retry", is(l.CheckN("alice", "/a", 2)).Allowed, true)
	equal(t, "more than there ever is", is(l.CheckN("alice", "/a", 6)).RetryAfter, librl.Never)
}

func TestFlagsTellOfRulesThatCountNothing(t *testing.T) {
	l := open(t, hundred+"\nuser.root = unlimited\nuser.eve = deny\nuser.new = token-bucket,1,1d,shadow")
	is := decided(t)
	root := is(l.Check("root", ""))
	equal(t, "unlimited", root.Has(librl.Unlimited), true)
	equal(t, "of a limit", root.Has(librl.Shadow), false)
	equal(t, "denied", is(l.Check("eve", "")).RetryAfter, librl.Never)
	is(l.Check("new", ""))
	d := is(l.Check("new", ""))
	equal(t, "in shadow mode", d.Allowed && d.Has(librl.Shadow), true)
}

func TestNamesAreBytesWithALength(t *testing.T) {
	l := open(t, "default = token-bucket,1,1000d")
	long := strings.Repeat("x", 65535)
	for _, name := range []string{"", "a", "a\x00", "a\x00b", "\xff\xfe", long} {
		equal(t, "first of "+name, l.Allow(name, "/a"), true)
		d, err := l.CheckBytes([]byte(name), []byte("/a"), 1)
		succeeds(t, err)
		equal(t, "as bytes, the second of "+name, d.Allowed, false)
	}
	equal(t, "no bytes are the empty name", decided(t)(l.CheckBytes(nil, []byte("/a"), 1)).Allowed, false)
}

func TestWrongArgumentsAreErrorsThatTakeNothing(t *testing.T) {
	l := open(t, "default = token-bucket,1,1000d")
	long := strings.Repeat("x", 65536)
	equal(t, "allowed", l.Allow(long, ""), false)
	calls := map[string]func() error{
		"name":   func() error { _, err := l.Check("", long); return err },
		"cost":   func() error { _, err := l.CheckN("", "", 0); return err },
		"peek":   func() error { _, err := l.Peek("", "", 0); return err },
		"charge": func() error { _, err := l.Charge("", "", 0); return err },
		"refund": func() error { return l.Refund("", "", 0) },
		"reset":  func() error { return l.Reset(long, "") },
		"wait":   func() error { return l.Wait(within(t), "", "", 0) },
		"batch": func() error {
			_, err := l.CheckBatch([]librl.Request{{}, {User: long}}, nil)
			return err
		},
		"all":  func() error { _, _, err := l.CheckAll(make([]librl.Request, 9)...); return err },
		"none": func() error { _, _, err := l.CheckAll(); return err },
	}
	for what, call := range calls {
		isError(t, what, call(), librl.ErrArgument)
	}
	equal(t, "nothing was taken", l.Allow("", ""), true)
}

func TestChargesAndRefunds(t *testing.T) {
	l := open(t, hundred)
	is := decided(t)
	equal(t, "a charge over the limit", is(l.Charge("alice", "/a", 130)).Allowed, false)
	succeeds(t, l.Refund("alice", "/a", 40))
	equal(t, "left", is(l.Peek("alice", "/a", 1)).Remaining, 9)
	succeeds(t, l.Reset("alice", "/a"))
	equal(t, "after a reset", is(l.CheckN("alice", "/a", 100)).Remaining, 0)
}

func TestABatchAnswersEachAndCheckAllAllOrNone(t *testing.T) {
	l := open(t, "default = token-bucket,3,1000d")
	requests := make([]librl.Request, 200) // more than the shim has room for on its stack
	for i := range requests {
		requests[i] = librl.Request{User: []string{"alice", "bob"}[i%2], API: "/a"}
	}
	requests[198].Cost, requests[199] = 4, librl.Request{User: "carol", Cost: 3}
	into := make([]librl.Decision, 0, 200)
	decisions, err := l.CheckBatch(requests, into)
	succeeds(t, err)
	equal(t, "answers", len(decisions), 200)
	equal(t, "where they are", &decisions[0], &into[:1][0])
	for i, d := range decisions {
		equal(t, "allowed", d.Allowed, i < 6 || i == 199)
	}
	equal(t, "retry", decisions[198].RetryAfter, librl.Never)

	dave, carol := librl.Request{User: "dave"}, librl.Request{User: "carol"}
	allowed, decisions, err := l.CheckAll(dave, carol)
	succeeds(t, err)
	equal(t, "all", allowed, false)
	equal(t, "dave", decisions[0].Allowed, true)
	equal(t, "carol", decisions[1].Allowed, false)
	equal(t, "left to dave", decided(t)(l.Peek("dave", "", 3)).Allowed, true)

	decisions, err = l.CheckBatch(nil, nil)
	succeeds(t, err)
	equal(t, "answers to nothing", len(decisions), 0)
}
