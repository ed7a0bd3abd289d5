# The code under test of docs/tool-serve.md: after an error it reads the cart before it tries again.
import json
from urllib import request


def add_discount(address, token, cart, external_id):
    url = f"{address}/v2/carts/{cart}"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    for _ in range(3):
        with request.urlopen(request.Request(f"{url}?include=custom_discounts", headers=headers)) as response:
            included = json.load(response).get("included") or {}
        if any(d["external_id"] == external_id for d in included.get("custom_discounts") or []):
            return
        body = json.dumps({"data": [{
            "type": "custom_discount", "amount": -1000, "description": "Ten dollars off", "discount_code": "TEN-OFF",
            "discount_engine": "shop", "external_id": external_id,
        }]}).encode()
        try:
            request.urlopen(request.Request(f"{url}/custom-discounts", body, headers)).close()
        except OSError:  # an error of the connection or of HTTP
            pass
    raise RuntimeError("the discount is not on the cart")
