package librl_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"librl"
)

func Example() {
	limiter, err := librl.New("default = token-bucket,2,10")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer limiter.Close()
	for i := 1; i <= 3; i++ {
		fmt.Println(limiter.Allow("alice", "/orders"))
	}
	// Output:
	// true
	// true
	// false
}

func ExampleLimiter_CheckN() {
	limiter, _ := librl.New("default = token-bucket,100,1h")
	defer limiter.Close()
	decision, err := limiter.CheckN("alice", "/export", 30)
	fmt.Println(decision.Allowed, decision.Remaining, err)
	// Output: true 70 <nil>
}

func ExampleLimiter_CheckBatch() {
	limiter, _ := librl.New("default = token-bucket,1,1h")
	defer limiter.Close()
	decisions, err := limiter.CheckBatch([]librl.Request{
		{User: "alice", API: "/orders"},
		{User: "alice", API: "/orders"},
		{User: "bob", API: "/orders"},
	}, nil)
	if err != nil {
		fmt.Println(err)
	}
	for _, decision := range decisions {
		fmt.Println(decision.Allowed)
	}
	// Output:
	// true
	// false
	// true
}

// A client's address, its account and its key count together: all are charged, or none.
func ExampleLimiter_CheckAll() {
	limiter, _ := librl.New("default = token-bucket,10,1h")
	defer limiter.Close()
	allowed, decisions, _ := limiter.CheckAll(
		librl.Request{User: "192.0.2.7", API: "address"},
		librl.Request{User: "alice", API: "account", Cost: 4},
	)
	fmt.Println(allowed, decisions[0].Remaining, decisions[1].Remaining)
	// Output: true 9 6
}

func ExampleLimiter_Wait() {
	limiter, _ := librl.New("default = token-bucket,1,1h")
	defer limiter.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(limiter.Wait(ctx, "alice", "/orders", 1))
	err := limiter.Wait(ctx, "alice", "/orders", 1) // would take an hour: says so at once
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output:
	// <nil>
	// true
}

func ExampleWithClock() {
	clock := librl.NewManualClock(0)
	limiter, _ := librl.New("default = token-bucket,1,10", librl.WithClock(clock))
	defer limiter.Close()
	limiter.Allow("alice", "/orders")
	decision, _ := limiter.Check("alice", "/orders")
	fmt.Println(decision.Allowed, decision.RetryAfter)
	clock.Advance(decision.RetryAfter)
	fmt.Println(limiter.Allow("alice", "/orders"))
	// Output:
	// false 10s
	// true
}

func ExampleError() {
	_, err := librl.New("default = token-bucket,5,10\napi./login = fixed-window,2")
	var wrong *librl.Error
	if errors.As(err, &wrong) {
		fmt.Println(errors.Is(err, librl.ErrConfig), wrong.Line)
	}
	// Output: true 2
}
