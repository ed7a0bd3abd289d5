package commercetest

import (
	"fmt"
	"maps"
	"net/url"
	"strconv"
)

const (
	maxPageLimit  = 100
	maxPageOffset = 10_000
	// linkHost is the host in the links of a list. Like the service, the store links
	// to another host than the one called. A request to it gets a 404.
	linkHost = "store-links.example"
)

// pageQuery is the part of a query that selects a page.
type pageQuery struct {
	values        url.Values // the whole query
	limit, offset int
	style         Links
}

// readPageQuery checks page[limit] and page[offset]. The limit is at most cfg.MaxPage.
func readPageQuery(values url.Values, cfg Config) (q pageQuery, problem *errorObject) {
	q.values, q.style = values, cfg.Links
	limit := intParam{name: "page[limit]", absent: cfg.PageLength, min: 1, max: maxPageLimit}
	offset := intParam{name: "page[offset]", absent: 0, min: 0, max: maxPageOffset}
	var err error
	if q.limit, err = limit.read(values); err != nil {
		return q, validationError(err.Error())
	}
	q.limit = min(q.limit, cfg.MaxPage)
	if q.offset, err = offset.read(values); err != nil {
		return q, validationError(err.Error())
	}
	return q, nil
}

// intParam describes a query parameter that is a whole number.
type intParam struct {
	name     string
	absent   int // the value if there is no such parameter
	min, max int
}

func (p intParam) read(values url.Values) (int, error) {
	if !values.Has(p.name) {
		return p.absent, nil
	}
	n, err := strconv.Atoi(values.Get(p.name))
	if err != nil || n < p.min || n > p.max {
		return 0, fmt.Errorf("%s must be a whole number from %d to %d", p.name, p.min, p.max)
	}
	return n, nil
}

// meta returns the meta member of a list that has so many records in total.
func (q pageQuery) meta(total int) map[string]any {
	return map[string]any{
		"page": map[string]int{
			"limit":   q.limit,
			"offset":  q.offset,
			"current": q.offset/q.limit + 1,
			"total":   (total + q.limit - 1) / q.limit,
		},
		"results": map[string]int{"total": total},
	}
}

// links returns the links of a page of the list at path, or nil if lists have none. As in responses
// of the service, a link to a page that does not exist is null; last is always null.
func (q pageQuery) links(path string, total int) map[string]any {
	if q.style == NoLinks {
		return nil
	}
	links := map[string]any{"first": q.link(path, 0), "last": nil, "next": nil, "prev": nil}
	if next := q.offset + q.limit; next < total {
		links["next"] = q.link(path, next)
	}
	if q.style == LinksWithoutNext {
		delete(links, "next")
	}
	if q.offset > 0 {
		links["prev"] = q.link(path, max(q.offset-q.limit, 0))
	}
	return links
}

// link returns a link to the page at offset.
func (q pageQuery) link(path string, offset int) any {
	v := maps.Clone(q.values)
	v.Set("page[limit]", strconv.Itoa(q.limit))
	v.Set("page[offset]", strconv.Itoa(offset))
	address := "https://" + linkHost + path + "?" + v.Encode()
	if q.style == LinksAsObjects {
		return map[string]string{"href": address}
	}
	return address
}
