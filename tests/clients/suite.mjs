// Runs suite.ts, a tester's suite, against a server: types from the server's own document, the strict compiler, and the
// public client of x402. Prints one line of JSON: the conditions that hold, and why others do not.
//
// node suite.mjs WORLD, with WORLD as JSON: { url, key, run, active, inactive, anywhere }; `anywhere` leaves out what
// only a sandbox has.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { ExactEvmSchemeV1 } from "@x402/evm/v1";
import openapiTS, { astToString } from "openapi-typescript";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

/** The answers of a server of the first version alone: a client that finds the terms of the second ignores the body. */
const first = async (input, init) => {
  const answer = await fetch(input, init);
  const headers = new Headers(answer.headers);
  headers.delete("payment-required");
  return new Response(answer.body, { status: answer.status, headers });
};

const payer = (version) => {
  const account = privateKeyToAccount(generatePrivateKey());
  const client = new x402Client();
  if (version === 1) client.registerV1("base", new ExactEvmSchemeV1(account));
  else client.register("eip155:8453", new ExactEvmScheme(account));
  return wrapFetchWithPayment(version === 1 ? first : fetch, client);
};

const { anywhere, ...named } = JSON.parse(process.argv[2]);
const world = { ...named, payer };
const folder = mkdtempSync(join(tmpdir(), "assay-suite-"));
try {
  const document = await (await fetch(`${world.url}/openapi.json`)).json();
  writeFileSync(join(folder, "assay.d.ts"), astToString(await openapiTS(document)));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  copyFileSync(new URL("suite.ts", import.meta.url), join(folder, "suite.ts"));
  const modules = new URL("node_modules", import.meta.url).pathname;
  symlinkSync(modules, join(folder, "node_modules"));
  const options = ["--strict", "--target", "es2022", "--module", "nodenext", "--allowImportingTsExtensions",
    "--rewriteRelativeImportExtensions"];
  try {
    execFileSync(process.execPath, [join(modules, "typescript/bin/tsc"), ...options, "suite.ts"], { cwd: folder });
  } catch (error) {
    throw new Error(`tsc: ${error.stdout}`);
  }
  const { CONDITIONS, Tester } = await import(pathToFileURL(join(folder, "suite.js")));
  const tester = await Tester.of(world, world.run);
  const chosen = CONDITIONS.filter((condition) => !anywhere || condition.anywhere);
  const outcomes = await Promise.all(chosen.map(async ({ name, check }) => {
    try {
      await check(tester);
      return { name };
    } catch (error) {
      return { name, why: String(error?.message ?? error) };
    }
  }));
  const failed = outcomes.filter(({ why }) => why);
  console.log(JSON.stringify({ held: outcomes.length - failed.length, failed }));
} finally {
  rmSync(folder, { recursive: true });
}
