# Tests with one mistake each: they must fail. mistakes.mjs is the same in JavaScript.
import json
from urllib import error, request

import pytest

NOWHERE = "00000000-0000-4000-8000-000000000000"  # a cart that does not exist
DISCOUNT = {
    "type": "custom_discount", "amount": -1000, "description": "Ten dollars off", "discount_code": "TEN-OFF",
    "discount_engine": "shop", "external_id": "ten-off-1",
}
mistakes = {}


def mistake(name, *args):
    def add(body):
        mistakes[name] = lambda store: body(store, *args)
        return body
    return add


# The code under test, of a shop: it adds a discount, and tries again after an error. It does not look
# at the cart first.
def add_discount(store, token=None, timeout=10, tries=2, **changes):
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {store.token if token is None else token}"}
    body = json.dumps({"data": [DISCOUNT | changes]}).encode()
    url = f"{store.address}/v2/carts/{store.cart}/custom-discounts"
    for left in reversed(range(tries)):
        try:
            return request.urlopen(request.Request(url, body, headers), timeout=timeout).close()
        except OSError as e:  # an error of the connection or of HTTP
            if not left:
                raise RuntimeError(f"{e}: {e.read()}" if isinstance(e, error.HTTPError) else e) from None


# The discounts of the cart, as a text.
def discounts_of(store):
    return " ".join(d["external_id"] for d in store.get("carts")["carts"][0]["discounts"])


# Faults that nothing meets.
for name, fault in {
    "typo in match.path": {"status": 503, "match": {"path": "/v2/cart/*/custom-discounts"}},
    "match.path without its end": {"status": 503, "match": {"path": "/v2/carts/*"}},
    "other operation": {"operation": "items", "status": 503},
    "operation of an item": {"operation": "add item discount", "status": 503, "times": 2},
    "always, but never met": {"operation": "delete discounts", "status": 503, "always": True},
    "other cart in match.cart": {"status": 503, "match": {"cart": NOWHERE}},
    "after more requests than come": {"operation": "add", "status": 503, "after": 1},
    "other text in match.body": {"status": 503, "match": {"body": "twenty-off"}},
    "other value in match.header": {"status": 503, "match": {"header": {"X-Worker": "7"}}},
}.items():
    @mistake(name, fault)
    def _(store, fault):
        store.post("faults", fault)
        add_discount(store)
        assert discounts_of(store) == "ten-off-1"

# Faults and stubs that the store refuses.
for name, (path, body) in {
    "path with :id in a fault": ("faults", {"status": 503, "match": {"path": "/v2/carts/:id/custom-discounts"}}),
    "path with ** in a fault": ("faults", {"status": 503, "match": {"path": "/v2/carts/**"}}),
    "path with <id> in a fault": ("faults", {"status": 503, "match": {"path": "/v2/carts/<id>/custom-discounts"}}),
    "path with one brace in a fault": ("faults", {"status": 503, "match": {"path": "/v2/carts/{id/custom-discounts"}}),
    "path with a host in a fault": ("faults", {"status": 503, "match": {"path": "http://127.0.0.1:8080/v2/carts/*"}}),
    "path with a query in a fault": ("faults", {"status": 503, "match": {"path": "/v2/carts/*?include=items"}}),
    "path with :id in a stub": ("stubs", {"method": "GET", "path": "/v2/returns/:id"}),
    "path with ** in a stub": ("stubs", {"method": "GET", "path": "/v2/returns/**"}),
    "path with <id> in a stub": ("stubs", {"method": "GET", "path": "/v2/returns/<id>"}),
    "path with one brace in a stub": ("stubs", {"method": "GET", "path": "/v2/returns/{id"}),
    "path with a query in a stub": ("stubs", {"method": "GET", "path": "/v2/returns?page=1"}),
    "unknown operation": ("faults", {"operation": "add discount", "status": 503}),
    "stauts in a fault": ("faults", {"operation": "add", "stauts": 503}),
    "headers in a fault": ("faults", {"operation": "add", "status": 429, "headers": {"Retry-After": "2"}}),
    "headers in a stub": ("stubs", {"method": "GET", "path": "/v2/returns", "headers": {"Retry-After": "2"}}),
    "carts in match": ("faults", {"operation": "add", "status": 503, "match": {"carts": NOWHERE}}),
    "fault without an effect": ("faults", {"operation": "add", "apply": True}),
    "delay as a number": ("faults", {"operation": "add", "delay": 2000}),
    "stub for a path of the store": ("stubs", {"method": "GET", "path": "/v2/carts/{id}"}),
    "price that is not whole": ("carts", {"items": [{"price": 19.99 * 100}]}),
}.items():
    @mistake(name, path, body)
    def _(store, path, body):
        store.post(path, body)


@mistake("match without a member")
def _(store):
    store.post("faults", {"operation": "add", "status": 503, "match": {}})
    add_discount(store)
    assert discounts_of(store) == "ten-off-1"


@mistake("amount that is not whole")
def _(store):
    add_discount(store, amount=-19.99 * 100)


# Waits for what does not come.
for name, query in {
    "wait for another operation": {"operation": "items"},
    "wait for two": {"operation": "add", "count": 2},
    "wait with pending=0 for what never came": {"operation": "items", "pending": 0},
    "wait for another cart": {"operation": "add", "cart": NOWHERE},
    "wait for a cart that is undefined": {"operation": "add", "cart": None},
}.items():
    @mistake(name, query)
    def _(store, query):
        add_discount(store)
        store.get("wait", **query, timeout="50ms")


@mistake("cart for carts in a wait")
def _(store):
    store.get("wait", carts=store.cart, timeout="50ms")


@mistake("stub that is never met")
def _(store):
    store.post("stubs", {"method": "GET", "path": "/v2/order/{id}", "body": {"data": {}}})
    add_discount(store)


@mistake("token forgotten by the shop")
def _(store):
    with pytest.raises(RuntimeError):
        add_discount(store, token="")
    store.get("wait", operation="add", timeout="50ms")


@mistake("token of the first namespace in the shop")
def _(store):
    add_discount(store, token="first")
    store.get("wait", operation="add", timeout="50ms")


@mistake("token forgotten by the test")
def _(store):
    body = json.dumps({"operation": "add", "status": 503}).encode()
    try:
        request.urlopen(f"{store.address}/_store/faults", body).close()
    except error.HTTPError as e:
        raise RuntimeError(e.read().decode()) from None
    add_discount(store)
    assert discounts_of(store) == "ten-off-1"


@mistake("more times than tries")
def _(store):
    store.post("faults", {"operation": "add", "status": 503, "times": 3})
    with pytest.raises(RuntimeError):
        add_discount(store)


@mistake("look before a late write")
def _(store):
    store.post("faults", {"operation": "add", "late": True, "status": 504, "times": 2})
    with pytest.raises(RuntimeError):
        add_discount(store)
    assert discounts_of(store) == "ten-off-1"


@mistake("end before a late write")
def _(store):
    store.post("faults", {"operation": "add", "late": True, "status": 504})
    add_discount(store)
    assert discounts_of(store) == "ten-off-1"  # that of the second try; the first comes later


@mistake("client that gives up before a late write")
def _(store):
    store.post("faults", {"operation": "add", "late": True})
    with pytest.raises(RuntimeError, match="timed out"):
        add_discount(store, timeout=0.2, tries=1)
    assert discounts_of(store) == ""


@mistake("lost response, and tried again")
def _(store):
    store.post("faults", {"operation": "add", "apply": True, "cut": True})
    add_discount(store)
    assert discounts_of(store) == "ten-off-1"


@pytest.mark.parametrize("body", mistakes.values(), ids=mistakes)
def test_mistake(store, body):
    body(store)
