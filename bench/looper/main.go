// Command looper prints the ids of all subscriptions with net/http and
// encoding/json: its size is compared with that of lister.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
)

func main() {
	for offset := 0; ; offset += 100 {
		address := fmt.Sprintf("%s/v2/subscriptions/subscriptions?page%%5Blimit%%5D=100&page%%5Boffset%%5D=%d",
			os.Args[1], offset)
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
		if err != nil {
			log.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+os.Getenv("COMMERCE_TOKEN"))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			log.Fatal(err)
		}
		var page struct {
			Data []struct {
				ID string `json:"id"`
			} `json:"data"`
		}
		err = json.NewDecoder(resp.Body).Decode(&page)
		_ = resp.Body.Close()
		if err != nil {
			log.Fatal(err)
		}
		for _, sub := range page.Data {
			fmt.Println(sub.ID)
		}
		if len(page.Data) < 100 {
			return
		}
	}
}
