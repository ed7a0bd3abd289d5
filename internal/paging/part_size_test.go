package paging

import "testing"

// The number of keys of each part, for a store that accepts what it is asked for, or refuses it.
func TestPartSize(t *testing.T) {
	t.Parallel()
	s := newPartSize(1000, 100, 8) // aims at 178 records
	for n, tt := range []struct {
		perKey  int // records per key of the part before; 0: the store refuses the part
		want    int
		because string
	}{
		{perKey: 10, want: 8, because: "8 times what the store accepted"},
		{perKey: 10, want: 17, because: "178 records"},
		{perKey: 1000, want: 17, because: "one large key of three"},
		{perKey: 7, want: 17, because: "the median is 10"},
		{perKey: 7, want: 17, because: "the median is 10"},
		{perKey: 7, want: 17, because: "the median is 10"},
		{perKey: 7, want: 25, because: "the median is 7"},
		{perKey: 6, want: 25, because: "the median is 7"},
		{perKey: 0, want: 12, because: "half of what was refused"},
		{perKey: 6, want: 12, because: "the limit is lowered for good"},
		{perKey: 0, want: 6, because: "half of it again"},
		{perKey: 0, want: 3, because: "half of it again"},
		{perKey: 0, want: 1, because: "half of it again"},
		{perKey: 0, want: 1, because: "a part has a key"},
	} {
		keys := s.next()
		if tt.perKey == 0 {
			s.refuse(keys)
		} else {
			s.accept(keys)
			s.learn(keys, keys*tt.perKey)
		}
		if got := s.next(); got != tt.want {
			t.Errorf("part %d: %d keys after one of %d keys with %d records each, want %d: %s",
				n+2, got, keys, tt.perKey, tt.want, tt.because)
		}
	}
}

// A little more than the store accepted is not worth the risk of a refusal, unless it is the most.
func TestPartSize_littleMore(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limit, accepted, records, want int
	}{
		{limit: 1000, accepted: 16, records: 16 * 178 / 17, want: 16},
		{limit: 1000, accepted: 16, records: 16 * 178 / 18, want: 18},
		{limit: 20, accepted: 16, records: 16, want: 20},
		{limit: 21, accepted: 20, records: 20 * 178 / 20, want: 20},
	} {
		s := newPartSize(tt.limit, 100, 8)
		s.accept(tt.accepted)
		s.learn(tt.accepted, tt.records)
		if got := s.next(); got != tt.want {
			t.Errorf("limit %d, %d accepted, %d records: %d keys, want %d", tt.limit, tt.accepted, tt.records, got, tt.want)
		}
	}
}

// What the store accepted once is proven. A part with more pages than it aims at is suspicious.
func TestPartSize_limits(t *testing.T) {
	t.Parallel()
	s := newPartSize(1000, 100, 1) // aims at 20 pages
	s.accept(5)
	if !s.isProven(5) || s.isProven(6) || s.suspicious != 25 {
		t.Errorf("5 keys are proven: %t, 6: %t; pages of a suspicious part: %d, want true, false, 25",
			s.isProven(5), s.isProven(6), s.suspicious)
	}
}
