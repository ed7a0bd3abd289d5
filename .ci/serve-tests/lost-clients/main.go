// Command lost-clients sends requests by net/http, and prints what the caller sees of the last one.
//
//	go run main.go BEFORE TOKEN METHOD URL BODY
//
// BEFORE is the URL of a GET that comes first on the same connection, or empty.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	before, token, method, url, body := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	if before != "" {
		_, _ = send(token, http.MethodGet, before, "")
	}
	status, err := send(token, method, url, body)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("status", status)
}

func send(token, method, url, body string) (int, error) {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req, err := http.NewRequest(method, url, reader)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}
