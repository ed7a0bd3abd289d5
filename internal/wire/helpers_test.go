package wire

import (
	stdjson "encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const someID = "3b4de20a-ccd0-44e6-894f-628e7afb3db0"

const maxTestRecords = 10_000

type extra = map[string]stdjson.RawMessage

func raw(s string) stdjson.RawMessage { return stdjson.RawMessage(s) }

type (
	record struct {
		ID    uuid.UUID `json:"id,omitzero"`
		At    time.Time `json:"at,omitzero"`
		Name  string    `json:"name,omitzero"`
		Flag  bool      `json:"flag"`
		Inner inner     `json:"inner,omitzero"`
		List  []inner   `json:"list,omitzero"` // at most 3
		Extra extra     `json:",embed"`
	}
	inner struct {
		N     int   `json:"n,omitzero"`
		Extra extra `json:",embed"`
	}
	plainInner    inner
	innerWithZero struct {
		*plainInner
		N int `json:"n"` // hides the field of inner, which leaves out 0
	}

	// A shade is a string or an object in JSON.
	shade struct {
		Name string `json:"name"`
	}
	// nested has no Extra, and objects without one in it.
	nested struct {
		Shades []shade `json:"shades,omitzero"`
	}
	// links are an object with one member for each link.
	links []link
	link  struct {
		name string
		to   target
	}
	// A target is a string or an object.
	target struct {
		Href    string `json:"href"`
		Extra   extra  `json:",embed"`
		notNull bool
	}
	// several is an array or a single object.
	several struct {
		list []inner
		many bool
	}
	// A thing repeats.
	thing struct {
		Name  string    `json:"name"`
		At    time.Time `json:"at"`
		Texts []string  `json:"texts,omitzero"`
		Links links     `json:"links,omitzero"`
		Inner inner     `json:"inner,omitzero"`
		List  []plain   `json:"list,omitzero"`
		Extra extra     `json:",embed"`
	}
	plain struct {
		Texts []string `json:"texts"`
	}
	// Another type that repeats.
	other struct {
		Name  string `json:"name"`
		Extra extra  `json:",embed"`
	}
	word string
	// upper has a method of its own.
	upper    struct{ text string }
	Promoted struct {
		Deep string    `json:"deep,omitzero"`
		ID   uuid.UUID `json:"id,omitzero"`
	}

	// every has a field of each type that the reader reads, and of some that it passes
	// to the decoder.
	every struct {
		Text    string             `json:"text,omitzero"`
		Word    word               `json:"word,omitzero"`
		Flag    bool               `json:"flag"`
		Number  int                `json:"number,omitzero"`
		Upper   upper              `json:"upper,omitzero"`
		Texts   []string           `json:"texts,omitzero"`
		Records []record           `json:"records,omitzero"`
		Map     map[string]inner   `json:"map,omitzero"`
		Shade   shade              `json:"shade,omitzero"`
		Shades  []shade            `json:"shades,omitzero"`
		Nested  nested             `json:"nested,omitzero"`
		Raw     stdjson.RawMessage `json:"raw,omitzero"`
		Bytes   []byte             `json:"bytes,omitzero"`
		Pointer *bool              `json:"pointer,omitzero"`
		Sub     *inner             `json:"sub,omitempty"`
		Subs    []*inner           `json:"subs,omitzero"`
		Words   map[word]string    `json:"words,omitzero"`
		NoTags  struct{ A, B int } `json:"no_tags,omitzero"`
		Links   links              `json:"links,omitzero"`
		Several several            `json:"several,omitzero"`
		Things  []thing            `json:"things,omitzero"`
		Others  []other            `json:"others,omitzero"`
		Promoted
		Extra extra `json:",embed"`
	}
)

func (r record) MarshalJSON() ([]byte, error) { return nil, errors.New("the method was called") }
func (r *record) UnmarshalJSON([]byte) error  { return errors.New("the method was called") }

func (i inner) MarshalJSON() ([]byte, error) { return nil, errors.New("the method was called") }
func (i *inner) UnmarshalJSON([]byte) error  { return errors.New("the method was called") }

func (u *upper) UnmarshalJSON(b []byte) error {
	if string(b) == `"bad"` {
		return errors.New("bad")
	}
	u.text = strings.ToUpper(string(b))
	return nil
}

func (t *thing) separate() {
	t.Texts, t.Links, t.List = slices.Clone(t.Texts), slices.Clone(t.Links), slices.Clone(t.List)
	for i := range t.List {
		t.List[i].Texts = slices.Clone(t.List[i].Texts)
	}
}

func writeShade(s *shade) ([]byte, error) {
	switch s.Name {
	case "plain":
		return []byte(`"plain"`), nil
	case "bad":
		return nil, errors.New("cannot be encoded")
	}
	return nil, nil
}

func writeTarget(t *target) ([]byte, error) {
	if !t.notNull {
		return []byte("null"), nil
	}
	return nil, nil
}

func decodeSeveral(kind byte, s *several) any {
	if s.many = kind == '['; s.many {
		return &s.list
	}
	s.list = make([]inner, 1)
	return &s.list[0]
}

func encodeInner(v *inner) *innerWithZero {
	if v.Extra == nil {
		return nil
	}
	return &innerWithZero{plainInner: (*plainInner)(v), N: v.N}
}

func newTestCodec() *Codec {
	return NewCodec(
		Record[record](maxTestRecords),
		EncodedAs(encodeInner), // comes before the Record, which encodes each inner
		Record[inner](3),
		As(`"`, func(_ byte, s *shade) any { return &s.Name }, writeShade),
		Named[links](1, func(l *link) (*string, *target) { return &l.name, &l.to },
			func(t *target) { t.notNull = true }),
		As(`"`, func(_ byte, t *target) any { return &t.Href }, writeTarget),
		Repeated(Rule{typ: reflect.TypeFor[thing]()}, (*thing).separate),
		Repeated(Rule{typ: reflect.TypeFor[other]()}, func(*other) {}),
		As(`[{`, decodeSeveral, nil, reflect.TypeFor[[]inner](), reflect.TypeFor[inner]()),
	)
}
