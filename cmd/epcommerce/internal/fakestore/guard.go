package fakestore

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// foreign returns why a request must be refused that a web site may have caused, in the browser of
// somebody who can reach the server, or "". Browsers name the site in Origin, or say in
// Sec-Fetch-Site that it is another one. A site whose name resolves to the loopback interface (DNS
// rebinding) has its name in Host. The sites of Origins may use stores, but not drive them.
func (s *Server) foreign(r *http.Request, drives bool) string {
	host := strings.ToLower((&url.URL{Host: r.Host}).Hostname())
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	own := "http://" + r.Host
	if r.TLS != nil {
		own = "https://" + r.Host
	}
	switch {
	case host != "localhost" && !net.ParseIP(host).IsLoopback() && !slices.Contains(s.cfg.Hosts, host):
		return "Host must be localhost, a loopback address or a host of --allow-host"
	case !drives && slices.Contains(s.cfg.Origins, origin):
		return ""
	case origin != "" && origin != own:
		return "Origin must be that of the store, or absent, or for a request to the store itself one of --allow-origin"
	case site != "" && site != "same-origin" && site != "none":
		return "Sec-Fetch-Site must be same-origin or none, or absent"
	}
	return ""
}
