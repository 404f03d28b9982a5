// Verifies statements of scores without the code of the server: the SDK of EAS checks the signature, jco runs the model,
// and everything else is written from host/docs/statements.md.
//
// node verify.mjs SIGNERS COMPONENT < lines of { "statement", "evidence" }
//
// SIGNERS is the answer of /.well-known/assay-attestation.json, and COMPONENT the bytes of the model. Prints a line for
// each statement: "ok", or what does not agree.
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { transpileBytes } from "@bytecodealliance/jco-transpile";
import { StandardMerkleTree } from "@openzeppelin/merkle-tree";

// Its ES modules do not load in Node.
const eas = createRequire(import.meta.url)("@ethereum-attestation-service/eas-sdk");

const [signersFile, componentFile] = process.argv.slice(2);
const signers = JSON.parse(await readFile(signersFile, "utf8"));
const component = await readFile(componentFile);

const sha256 = (bytes) => "0x" + createHash("sha256").update(bytes).digest("hex");

/** The canonical JSON of RFC 8785: sorted names, no spaces, numbers as JavaScript writes them. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

// The fields of 64 bits in wit/v1 and wit/v2. In `dollars`, fields of the same names are numbers.
const LONG = new Set(["as_of", "chain_id", "first_transaction", "last_transaction", "transactions", "transfers",
  "median_gap", "supply", "withdraw", "borrow", "repay", "liquidation", "first_event", "last_event", "last_liquidation",
  "time", "issued", "expires"]);
const NOT_FINITE = { inf: Infinity, "-inf": -Infinity, NaN };

// Fields of a market that are absent were not read.
const UNREAD = { events_coverage: "failed", events: [], dollars: {} };

/** The features of the evidence as the component takes them. */
function lowered(value, name, record) {
  if (value === null) return undefined;
  if (Array.isArray(value)) return value.map((item) => lowered(item, name, record));
  if (typeof value === "object") {
    const fields = name === "markets" ? { ...UNREAD, ...value } : value;
    return Object.fromEntries(Object.entries(fields).map(([field, item]) =>
      [field.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()), lowered(item, field, name)]));
  }
  if (typeof value === "number") return LONG.has(name) && record !== "dollars" ? BigInt(value) : value;
  if (typeof value !== "string" || ["protocol", "market", "provider"].includes(name)) return value;
  return value in NOT_FINITE ? NOT_FINITE[value] : value.replaceAll("_", "-");
}

/** The component as a module of JavaScript. */
async function model() {
  const folder = await mkdtemp(join(tmpdir(), "verify-"));
  try {
    const { files } = await transpileBytes(component, { name: "model" });
    for (const [name, bytes] of Object.entries(files)) {
      if (/^[\w.]+\.(js|wasm)$/.test(name)) await writeFile(join(folder, name), bytes);
    }
    await writeFile(join(folder, "package.json"), '{"type":"module"}');
    return (await import(pathToFileURL(join(folder, "model.js")))).credit;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const credit = await model();
const offchain = new eas.Offchain(
  { address: signers.contract, chainId: BigInt(signers.chain_id), version: signers.contract_version },
  eas.OffchainAttestationVersion.Version2,
);

function agree(what, found, expected) {
  if (String(found).toLowerCase() !== String(expected).toLowerCase()) {
    throw new Error(`${what}: ${found}, expected ${expected}`);
  }
}

/** Throws what of the statement or of its evidence does not agree. */
function verify({ statement: { sig, signer }, evidence }) {
  const { message, domain } = sig;
  agree("version of the contract", domain.version, signers.contract_version);
  agree("signature", offchain.verifyOffchainAttestationSignature(signer, sig), true);
  const known = signers.signers.find(({ address }) => address.toLowerCase() === signer.toLowerCase());
  agree("known signer", known !== undefined && !known.revoked, true);
  agree("time of the signer", known.until === undefined || message.time * 1000 < Date.parse(known.until), true);
  agree("term", Date.now() / 1000 < message.expirationTime, true);
  agree("schema", message.schema, signers.schema.uid);
  const decoded = new eas.SchemaEncoder(signers.schema.text).decodeData(message.data);
  const content = Object.fromEntries(decoded.map(({ name, value }) => [name, value.value]));
  agree("coverage", content.coverage, "complete");
  agree("moment", content.asOf, evidence.features.as_of);
  agree("recipient", message.recipient, evidence.address);
  agree("model", sha256(component), content.modelDigest);
  agree("features", sha256(canonical(evidence.features)), content.featuresDigest);
  const leaves = evidence.blocks.map(({ chain_id, number, hash }) => [chain_id, number, hash]);
  agree("blocks", StandardMerkleTree.of(leaves, ["uint256", "uint256", "bytes32"]).root, content.blocksRoot);
  agree("version of the model", credit.describe().version, content.modelVersion);
  const { score, decile } = credit.score(lowered(evidence.features, "features"));
  agree("score", score, content.score);
  agree("decile", decile, content.decile);
  const above = [640, 750, 840, 920].filter((border) => score >= border).length;
  agree("range", ["low", "fair", "good", "very_good", "excellent"][above], content.range);
}

for await (const line of createInterface({ input: process.stdin })) {
  let found = "ok";
  try {
    verify(JSON.parse(line));
  } catch (error) {
    found = String(error.message || error.name || error).split("\n")[0];
  }
  console.log(found);
}
