package librl_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"librl"
)

// waiting starts a Wait, which answers in the channel.
func waiting(ctx context.Context, l *librl.Limiter, cost uint64) <-chan error {
	answer := make(chan error, 1)
	go func() { answer <- l.Wait(ctx, "alice", "/a", cost) }()
	return answer
}

func pending(t testing.TB, answer <-chan error) {
	t.Helper()
	select {
	case err := <-answer:
		t.Fatal("it does not wait: ", err)
	case <-time.After(20 * time.Millisecond):
	}
}

func answered(t testing.TB, answer <-chan error) error {
	t.Helper()
	select {
	case err := <-answer:
		return err
	case <-time.After(patience):
		t.Fatal("it still waits")
		return nil
	}
}

func TestAWaitLastsUntilTheRequestPasses(t *testing.T) {
	l := open(t, "default = token-bucket,1,200ms")
	begun := time.Now()
	for i := 0; i < 3; i++ {
		succeeds(t, l.Wait(within(t), "alice", "/a", 1))
	}
	if took := time.Since(begun); took < 400*time.Millisecond {
		t.Error("too early: ", took)
	}
	stats, err := l.Stats()
	succeeds(t, err)
	equal(t, "counted", [2]uint64{stats.Allowed, stats.Denied}, [2]uint64{3, 0})
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	l := open(t, "default = token-bucket,1,1000d")
	l.Allow("alice", "/a")
	for _, before := range []int{0, 1} { // the first in the line, and one behind it
		ctx, cancel := context.WithCancel(context.Background())
		if before == 1 {
			first, end := context.WithCancel(context.Background())
			defer end()
			pending(t, waiting(first, l, 1))
		}
		answer := waiting(ctx, l, 1)
		pending(t, answer)
		cancel()
		isError(t, "error", answered(t, answer), context.Canceled)
		isError(t, "once it is done", l.Wait(ctx, "bob", "/a", 1), context.Canceled)
	}
	equal(t, "nothing was taken", l.Allow("bob", "/a"), true)
}

func TestAWaitInVainIsNone(t *testing.T) {
	l := open(t, "default = token-bucket,10,1000d\nuser.eve = deny")
	ctx := within(t)
	isError(t, "more than there ever is", l.Wait(ctx, "alice", "/a", 11), librl.ErrNever)
	isError(t, "denied", l.Wait(ctx, "eve", "/a", 1), librl.ErrNever)
	succeeds(t, l.Wait(ctx, "alice", "/a", 10))
	begun := time.Now()
	err := l.Wait(ctx, "alice", "/a", 1)
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil || time.Since(begun) > patience/2 {
		t.Error(err)
	}
	stats, err := l.Stats()
	succeeds(t, err)
	equal(t, "counted", [2]uint64{stats.Allowed, stats.Denied}, [2]uint64{1, 3})

	pending(t, waiting(context.Background(), l, 1))
	isError(t, "behind another", l.Wait(ctx, "alice", "/a", 1), context.DeadlineExceeded)
}

// Ten come one after the other, and one unit at a time comes back; a place in the middle is
// given up.
func TestWaitsAreServedInTheOrderInWhichTheyCame(t *testing.T) {
	clock := librl.NewManualClock(0)
	l := open(t, "default = token-bucket,1,1000d", librl.WithClock(clock))
	l.Allow("alice", "/a")
	var answers []<-chan error
	ctx, cancel := context.WithCancel(context.Background())
	for i := 0; i < 10; i++ {
		of := within(t)
		if i == 4 {
			of = ctx
		}
		answers = append(answers, waiting(of, l, 1))
		pending(t, answers[i])
	}
	cancel()
	isError(t, "the one that gave up", answered(t, answers[4]), context.Canceled)
	answers = append(answers[:4], answers[5:]...)
	for i, answer := range answers {
		clock.Advance(1000 * 24 * time.Hour)
		succeeds(t, answered(t, answer))
		if i+1 < len(answers) {
			pending(t, answers[i+1])
		}
	}
}

func TestWhatIsGivenBackWakesWhoWaits(t *testing.T) {
	for what, give := range map[string]func(*librl.Limiter) error{
		"Refund": func(l *librl.Limiter) error { return l.Refund("alice", "/a", 1) },
		"Reset":  func(l *librl.Limiter) error { return l.Reset("alice", "/a") },
		"Reload": func(l *librl.Limiter) error { return l.Reload("default = unlimited") },
	} {
		l := open(t, "default = token-bucket,1,1000d")
		l.Allow("alice", "/a")
		ctx, cancel := context.WithCancel(context.Background())
		answer := waiting(ctx, l, 1)
		pending(t, answer)
		succeeds(t, give(l))
		if err := answered(t, answer); err != nil {
			t.Error(what, ": ", err)
		}
		cancel()
	}
}

func TestCloseEndsWaits(t *testing.T) {
	l := open(t, "default = token-bucket,1,1000d")
	l.Allow("alice", "/a")
	first, second := waiting(context.Background(), l, 1), waiting(context.Background(), l, 1)
	pending(t, first)
	pending(t, second)
	l.Close()
	isError(t, "first", answered(t, first), librl.ErrClosed)
	isError(t, "second", answered(t, second), librl.ErrClosed)
}

// Many wait for a few units, and what comes back goes to as many of them.
func TestManyWaitsTakeExactlyWhatComes(t *testing.T) {
	l := open(t, "default = token-bucket,10,1000d")
	ctx, cancel := context.WithCancel(context.Background())
	var passed, given sync.WaitGroup
	passed.Add(30)
	given.Add(20)
	for i := 0; i < 50; i++ {
		go func() {
			if l.Wait(ctx, "alice", "/a", 1) == nil {
				passed.Done()
			} else {
				given.Done()
			}
		}()
	}
	eventually(t, "the first ten", func() bool { return allowed(t, l) == 10 })
	for i := 0; i < 20; i++ {
		succeeds(t, l.Refund("alice", "/a", 1))
		eventually(t, "the next", func() bool { return allowed(t, l) == uint64(11+i) })
	}
	passed.Wait()
	cancel()
	given.Wait()
	equal(t, "in all", allowed(t, l), 30)
}

func allowed(t testing.TB, l *librl.Limiter) uint64 {
	stats, err := l.Stats()
	succeeds(t, err)
	return stats.Allowed
}
