"""Submits with the public PyPI client of x402 as it is, and prints what came back as one line of JSON.

python pay.py VERSION URL PRIVATE_KEY BODY
"""

import asyncio
import base64
import json
import sys

import httpx
from eth_account import Account
from x402 import x402Client
from x402.http.clients.httpx import x402AsyncTransport
from x402.mechanisms.evm.exact.register import register_exact_evm_client


async def main(version, url, key, body):
    client = register_exact_evm_client(x402Client(), Account.from_key(key))
    async with httpx.AsyncClient(transport=x402AsyncTransport(client), timeout=60) as http:
        response = await http.post(url, content=body, headers={"content-type": "application/json"})
        receipt = response.headers.get("x-payment-response" if version == "1" else "payment-response")
        receipt = receipt and json.loads(base64.b64decode(receipt))
        print(json.dumps({"status": response.status_code, "body": response.json(), "receipt": receipt}))


asyncio.run(main(*sys.argv[1:]))
