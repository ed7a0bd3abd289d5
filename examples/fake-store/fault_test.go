package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/commerce-go/commerce/commercetest"
)

func TestParseFault(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want commercetest.Fault
	}{
		{text: "add:504", want: commercetest.Fault{Operation: commercetest.OpAdd, Status: 504}},
		{text: "any:200", want: commercetest.Fault{Status: 200}},
		{text: "list:599", want: commercetest.Fault{Operation: commercetest.OpList, Status: 599}},
		{text: "add-item-discount:cut", want: commercetest.Fault{Operation: commercetest.OpAddItemDiscount, Cut: true}},
		{text: "add:504:applied", want: commercetest.Fault{Operation: commercetest.OpAdd, Status: 504, Apply: true}},
		{
			text: "add:504:late",
			want: commercetest.Fault{Operation: commercetest.OpAdd, Status: 504, Late: true, Delay: 2 * time.Second},
		},
		{
			text: "add:cut:500ms:late",
			want: commercetest.Fault{Operation: commercetest.OpAdd, Cut: true, Late: true, Delay: 500 * time.Millisecond},
		},
		{text: "any:429:3", want: commercetest.Fault{Status: 429, Times: 3}},
		{text: "any:429:always:1h", want: commercetest.Fault{Status: 429, Times: -1, Delay: time.Hour}},
		{text: "any:500:2:1s:applied", want: commercetest.Fault{Status: 500, Apply: true, Times: 2, Delay: time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			got, err := parseFault(tt.text)
			if err != nil {
				t.Errorf("error = %v, want nil", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("fault (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseFault_problems(t *testing.T) {
	t.Parallel()
	const (
		shape    = "must be an operation and a response, such as add:504"
		response = ", must be a status from 200 to 599, or cut"
		word     = ", must be applied, late, one delay such as 500ms, and one number of times such as 3, or always"
	)
	tests := []struct{ text, want string }{
		{text: "", want: shape},
		{text: "add", want: shape},
		{text: "ad:504", want: `has the unknown operation "ad", must be one of any, accounts, add, add-item, `},
		{text: ":504", want: `has the unknown operation ""`},
		{text: "add item:504", want: `has the unknown operation "add item"`},
		{text: "add:", want: `has the response ""` + response},
		{text: "add:late", want: `has the response "late"` + response},
		{text: "add:199", want: `has the response "199"` + response},
		{text: "add:600", want: `has the response "600"` + response},
		{text: "add:504:", want: `has the word ""` + word},
		{text: "add:504:later", want: `has the word "later"` + word},
		{text: "add:504:0", want: `has the word "0"` + word},
		{text: "add:504:-1", want: `has the word "-1"` + word},
		{text: "add:504:0s", want: `has the word "0s"` + word},
		{text: "add:504:-1s", want: `has the word "-1s"` + word},
		{text: "add:504:2:3", want: `has the word "3"` + word},
		{text: "add:504:2:always", want: `has the word "always"` + word},
		{text: "add:504:always:2", want: `has the word "2"` + word},
		{text: "add:504:1s:2s", want: `has the word "2s"` + word},
		{text: "add:504:late:late", want: `has the word "late" twice`},
		{text: "add:504:late:applied", want: "must not be both applied and late"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			if _, err := parseFault(tt.text); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error = %v, want %s", err, tt.want)
			}
		})
	}
}
