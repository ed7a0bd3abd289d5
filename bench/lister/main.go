// Command lister prints the ids of all subscriptions with the library: its size is
// compared with that of looper.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/commerce-go/commerce"
)

func main() {
	c, err := commerce.New(os.Args[1], commerce.WithToken(os.Getenv("COMMERCE_TOKEN")))
	if err != nil {
		log.Fatal(err)
	}
	for sub, err := range c.Subscriptions.All(context.Background(), nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(sub.ID)
	}
}
