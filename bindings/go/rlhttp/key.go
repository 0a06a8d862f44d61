package rlhttp

import (
	"net"
	"net/http"
	"net/netip"
)

// ByAddress has the client's address as the user, and the path as the API. Of an address of
// IPv6 the first 64 bits count, as one client has all that begin so.
//
// The address is that of the connection. Behind a proxy that is the proxy's, and a Key of
// your own is needed, that reads what this proxy, and no client, has set.
func ByAddress(r *http.Request) (user, api string) {
	return Address(r.RemoteAddr), r.URL.Path
}

// Address is the client in a host and port, as in http.Request.RemoteAddr: the address
// without the port, of IPv6 the network of 64 bits. What is no address is left as it is.
func Address(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	address = address.Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	return netip.PrefixFrom(address, 64).Masked().String()
}
