package fakestore

import (
	"embed"
	"mime"
	"net/http"
	"path"
)

//go:embed page
var pageFS embed.FS

// pageFiles are the files of the page, by their paths.
var pageFiles = map[string]string{
	"/{$}":             "page/index.html",
	"/_store/page.css": "page/page.css",
	"/_store/page.js":  "page/page.js",
}

// servePage sends a file of the page. It loads only what the server has, and no site can frame it.
func servePage(w http.ResponseWriter, file string) {
	text, err := pageFS.ReadFile(file)
	if err != nil {
		panic("fakestore: " + err.Error()) // it is embedded
	}
	header := w.Header()
	header.Set("Content-Type", mime.TypeByExtension(path.Ext(file)))
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "+
		"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	_, _ = w.Write(text) // an error means that the client has gone
}
