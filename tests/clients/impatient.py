"""As pay.py, at the timeout that httpx has by default.

python impatient.py VERSION URL PRIVATE_KEY BODY
"""

import asyncio
import json
import sys

import httpx
from eth_account import Account
from x402 import x402Client
from x402.http.clients.httpx import PaymentError, x402AsyncTransport
from x402.mechanisms.evm.exact.register import register_exact_evm_client


async def main(version, url, key, body):
    client = register_exact_evm_client(x402Client(), Account.from_key(key))
    async with httpx.AsyncClient(transport=x402AsyncTransport(client)) as http:
        try:
            response = await http.post(url, content=body, headers={"content-type": "application/json"})
            print(json.dumps({"status": response.status_code, "body": response.json()}))
        except (httpx.TimeoutException, PaymentError) as error:
            cause = error.__cause__ or error
            if not isinstance(cause, httpx.TimeoutException):
                raise
            print(json.dumps({"status": None, "error": type(cause).__name__}))


asyncio.run(main(*sys.argv[1:]))
