"""Sends requests by a library, and prints what the caller sees of the last one.

client.py LIBRARY BEFORE TOKEN METHOD URL BODY
BEFORE is the URL of a GET that comes first on the same connection, or empty.
"""

import importlib
import sys

library, before, token, method, url, body = sys.argv[1:]
headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
data = body.encode() or None
module = importlib.import_module(library)


def new_client():
    """Returns a function that sends a request, and returns the status."""
    if library == "requests":
        session = module.Session()
        return lambda m, u, d: session.request(m, u, data=d, headers=headers).status_code
    if library == "httpx":
        client = module.Client()
        return lambda m, u, d: client.request(m, u, content=d, headers=headers).status_code
    if library == "urllib3":
        pool = module.PoolManager()
        return lambda m, u, d: pool.request(m, u, body=d, headers=headers).status
    return lambda m, u, d: module.urlopen(module.Request(u, d, headers, method=m)).status


send = new_client()
if before:
    send("GET", before, None)
try:
    print("status", send(method, url, data))
except Exception as error:
    print(f"{type(error).__name__}: {error}")
