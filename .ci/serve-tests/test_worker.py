# One of eight workers that run at the same time, in pytest. worker.mjs is the same in JavaScript.
import json, os
from urllib import error, request

import pytest

STORE, WORKERS = os.environ["STORE"], os.environ["WORKERS"]
ME = f"worker {os.getpid()}"


def send(token, method, path, body=None):
    """Returns the status and the text of a response."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = body and json.dumps(body).encode()
    try:
        with request.urlopen(request.Request(STORE + path, data, headers, method=method)) as r:
            return r.status, r.read().decode()
    except error.HTTPError as e:
        return e.code, e.read().decode()


@pytest.fixture(scope="session", autouse=True)
def meeting():
    """The workers meet at a request that each sends to the first namespace, so that none is alone."""
    send("first", "GET", "/v2/settings")
    status, text = send("first", "GET", f"/_store/wait?operation=settings&count={WORKERS}&timeout=30s")
    assert status == 200, text


@pytest.mark.parametrize("number", range(40))
def test_round(store, number):
    def add(external_id):
        return send(store.token, "POST", f"/v2/carts/{store.cart}/custom-discounts", {"data": [{
            "type": "custom_discount", "amount": -1, "description": ME, "discount_code": "c", "discount_engine": "e",
            "external_id": external_id,
        }]})[0]

    store.post("faults", {"operation": "settings", "status": 503, "body": ME, "times": 4})
    store.post("faults", {"operation": "add", "late": True, "delay": "20ms", "status": 504})
    bodies = [send(store.token, "GET", "/v2/settings")[1] for _ in range(6)]
    assert bodies[:4] == [ME] * 4
    assert "worker" not in "".join(bodies[4:])

    assert add("late") == 504
    store.get("wait", operation="add", pending=0)
    assert add("second") == 201
    carts = store.get("carts")["carts"]
    assert [[f"{d['external_id']} of {d['description']}" for d in cart["discounts"]] for cart in carts] == [
        [f"late of {ME}", f"second of {ME}"]
    ]
    requests = store.get("requests")["requests"]
    assert [r["operation"] for r in requests] == ["settings"] * 6 + ["add"] * 2
