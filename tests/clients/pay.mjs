// Submits with the public npm client of x402 as it is, and prints what came back as one line of JSON.
// node pay.mjs VERSION URL PRIVATE_KEY BODY
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { ExactEvmSchemeV1 } from "@x402/evm/v1";
import { privateKeyToAccount } from "viem/accounts";

const [version, url, key, body] = process.argv.slice(2);
const account = privateKeyToAccount(key);
const client = new x402Client();
if (version === "1") client.registerV1("base", new ExactEvmSchemeV1(account));
else client.register("eip155:8453", new ExactEvmScheme(account));

const sent = [];
const watched = (input, init) => {
  const request = new Request(input, init);
  sent.push(request.headers.get("payment-signature") ?? request.headers.get("x-payment"));
  return fetch(request);
};
const response = await wrapFetchWithPayment(watched, client)(url, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body,
});
const receipt = response.headers.get(version === "1" ? "x-payment-response" : "payment-response");
console.log(JSON.stringify({
  status: response.status,
  body: await response.json(),
  receipt: receipt && decodePaymentResponseHeader(receipt),
  payment: sent.at(-1),
}));
