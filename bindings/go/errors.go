package librl

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
)

// ErrClosed is what every call returns after Close.
var ErrClosed = errors.New("librl: the limiter is closed")

// ErrNever is what Wait returns for a cost that can never pass, as it is more than the limit
// ever gives, or as the rule says deny.
var ErrNever = errors.New("librl: the request can never pass")

// A Status says of what kind an Error is: errors.Is(err, librl.ErrZone).
type Status int32

const (
	// ErrArgument: a name is longer than 65,535 bytes, a cost is 0, or a text has a NUL.
	ErrArgument Status = C.RL_ERR_ARGUMENT
	// ErrConfig: a rule or setting is wrong, or rules do not go together.
	ErrConfig Status = C.RL_ERR_CONFIG
	// ErrMemory: memory could not be had.
	ErrMemory Status = C.RL_ERR_MEMORY
	// ErrIO: a file or shared memory could not be made, opened, read, mapped or removed.
	ErrIO Status = C.RL_ERR_IO
	// ErrZone: shared memory holds what cannot be joined.
	ErrZone Status = C.RL_ERR_ZONE
	// ErrInternal: a bug in the library, caught before it could do harm.
	ErrInternal Status = C.RL_ERR_INTERNAL
)

// Error says the status in words.
func (s Status) Error() string {
	return "librl: " + s.message()
}

func (s Status) message() string {
	return C.GoString(C.rl_status_message(C.rl_status(s)))
}

// An Error is a failure that the library tells of. A request that is refused is none.
type Error struct {
	Status Status
	// Where in the rules, counted from 1; 0 where the failure lies in no text. The column is
	// in bytes.
	Line, Column int
	// What was found and what would be right.
	Message string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return "librl: " + e.Message
	}
	return fmt.Sprintf("librl: line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Unwrap makes errors.Is find the status.
func (e *Error) Unwrap() error {
	return e.Status
}

// errorOf makes an error of a status, nil for success. Calls that have no words of their own
// get those of the status.
func errorOf(status C.rl_status, e *C.rl_error) error {
	if status == C.RL_OK {
		return nil
	}
	if e == nil || e.status != status {
		return &Error{Status: Status(status), Message: Status(status).message()}
	}
	return &Error{
		Status:  Status(status),
		Line:    int(e.line),
		Column:  int(e.column),
		Message: C.GoString(&e.message[0]),
	}
}
