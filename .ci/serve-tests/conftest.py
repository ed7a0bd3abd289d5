# conftest.py: each test has a namespace of epcommerce serve.
import json, os
from urllib import error, parse, request

import pytest


class Store:
    def __init__(self):
        self.address = os.environ.get("STORE", "http://127.0.0.1:8080")
        self.token = os.environ.get("STORE_TOKEN")
        vars(self).update(self.send("POST", "namespaces"))

    def get(self, path, **query):
        return self.send("GET", f"{path}?{parse.urlencode(query)}")

    def post(self, path, body=None):
        return self.send("POST", path, body)

    def send(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        data = None if body is None else json.dumps(body).encode()
        try:
            with request.urlopen(request.Request(f"{self.address}/_store/{path}", data, headers, method=method)) as r:
                return json.loads(r.read() or "null")
        except error.HTTPError as e:
            raise RuntimeError("\n".join(problem["detail"] for problem in json.load(e)["errors"])) from None


@pytest.fixture
def store():
    """Fails the test too if a fault was not met, or a request is pending at its end."""
    store = Store()
    yield store
    try:
        store.get("verify")
    finally:
        store.send("DELETE", "namespaces")
