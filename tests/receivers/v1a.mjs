// Checks the signature `v1a` of deliveries with the Ed25519 of Node. Reads {key, deliveries} from stdin, and prints for
// each delivery whether it is signed by the key.

import { createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";

const { key, deliveries } = JSON.parse(readFileSync(0, "utf8"));
const x = Buffer.from(key.replace("whpk_", ""), "base64").toString("base64url");
const publicKey = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
const isSigned = ({ id, timestamp, signatures, text }) =>
  signatures
    .filter((one) => one.startsWith("v1a,"))
    .some((one) => verify(null, Buffer.from(`${id}.${timestamp}.${text}`), publicKey, Buffer.from(one.slice(4), "base64")));
console.log(JSON.stringify(deliveries.map(isSigned)));
