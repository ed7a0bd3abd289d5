package fakestore

import (
	"embed"
	"net/http"
)

//go:embed page
var pageFS embed.FS

// pageFile is a file of the page.
type pageFile struct{ path, name, mediaType string }

var pageFiles = []pageFile{
	{"/{$}", "page/index.html", "text/html; charset=utf-8"},
	{"/_store/page.css", "page/page.css", "text/css; charset=utf-8"},
	{"/_store/page.js", "page/page.js", "text/javascript; charset=utf-8"},
}

// servePage sends a file of the page. It loads only what the server has, and no site can frame it.
func servePage(w http.ResponseWriter, file pageFile) {
	text, err := pageFS.ReadFile(file.name)
	if err != nil {
		panic("fakestore: " + err.Error()) // it is embedded
	}
	header := w.Header()
	header.Set("Content-Type", file.mediaType)
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "+
		"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	_, _ = w.Write(text) // an error means that the client has gone
}
