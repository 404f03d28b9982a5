"""Checks the signature `v1a` of deliveries with the Ed25519 of pycryptodome, like v1a.mjs."""

import base64
import json
import sys

from Crypto.PublicKey import ECC
from Crypto.Signature import eddsa

given = json.load(sys.stdin)
key = ECC.import_key(
    encoded=b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00" + base64.b64decode(given["key"].removeprefix("whpk_"))
)


def is_signed(delivery):
    message = f"{delivery['id']}.{delivery['timestamp']}.{delivery['text']}".encode()
    for signature in delivery["signatures"]:
        if signature.startswith("v1a,"):
            try:
                eddsa.new(key, "rfc8032").verify(message, base64.b64decode(signature[4:]))
            except ValueError:
                continue
            return True
    return False


print(json.dumps([is_signed(delivery) for delivery in given["deliveries"]]))
