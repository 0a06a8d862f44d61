package librl

// #include "shim.h"
import "C"

import "unsafe"

// Version is that of the library that is loaded, such as "0.1.0".
func Version() string {
	return C.GoString(C.rl_version())
}

// UnlinkZone removes the shared memory of a name, such as "/shop". Processes that have it go
// on with it, and those that come later make a new one: do it when none uses it, or when all
// are about to be restarted.
func UnlinkZone(name string) error {
	return withCString(name, func(name *C.char) error {
		return errorOf(C.rl_zone_unlink(name), nil)
	})
}

// charsOf is where the bytes stand, nil where there are none.
func charsOf(bytes []byte) *C.char {
	if len(bytes) == 0 {
		return nil
	}
	return (*C.char)(unsafe.Pointer(&bytes[0]))
}
