// Prints the code and the storage of every contract that the snapshot of Maker's test chain names:
// { name: { address, code, storage: { slot: word } } }. The argument is the folder of npm's packages.
//
// The snapshot is the database of a chain node: each file is a node of a trie, by its hash. Its tries have addresses and
// slots themselves as paths, not their hashes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

const folder = join(process.argv[2], "@makerdao/testchain");
const addresses = JSON.parse(readFileSync(join(folder, "out/addresses-mcd.json"), "utf8"));

/** The files of a tar archive, by name. */
function untar(bytes) {
  const files = new Map();
  for (let at = 0; at + 512 <= bytes.length; ) {
    const text = (from, to) => bytes.toString("latin1", at + from, at + to).replace(/\0.*$/, "");
    const size = parseInt(text(124, 136), 8) || 0;
    // Longer names are in two parts.
    const name = [text(345, 500), text(0, 100)].filter(Boolean).join("/");
    if (name) files.set(name.replace(/^\.\//, ""), bytes.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

const files = untar(gunzipSync(readFileSync(join(folder, "snapshots/default.tgz"))));
const bytes = (hex) => Buffer.from(hex.slice(2), "hex");
const read = (name) => JSON.parse(files.get(name).toString());
/** Nothing for the hash of nothing, which an account without code or storage has. */
function node(hash) {
  const name = `!trie_db!0x${hash.toString("hex")}`;
  return files.has(name) ? bytes(read(name)) : Buffer.alloc(0);
}

/** The item at the start of `bytes`, a buffer or a list, and the length that it takes. */
function rlp(bytes) {
  if (!bytes.length) return [[], 0];
  const first = bytes[0];
  if (first < 0x80) return [bytes.subarray(0, 1), 1];
  const isList = first >= 0xc0;
  const short = first - (isList ? 0xc0 : 0x80);
  const width = short > 55 ? short - 55 : 0;
  const length = width ? bytes.readUIntBE(1, width) : short;
  const body = bytes.subarray(1 + width, 1 + width + length);
  if (!isList) return [body, 1 + width + length];
  const list = [];
  for (let at = 0; at < body.length; ) {
    const [item, taken] = rlp(body.subarray(at));
    list.push(item);
    at += taken;
  }
  return [list, 1 + width + length];
}

/** Adds the leaves below a trie's node to `leaves`: the path as digits, and the value. */
function walk(item, path, leaves) {
  const list = Array.isArray(item) ? item : rlp(node(item))[0];
  if (list.length === 17) {
    list.slice(0, 16).forEach((child, digit) => child.length && walk(child, path + digit.toString(16), leaves));
  } else if (list.length === 2) {
    const digits = list[0].toString("hex");
    const kind = parseInt(digits[0], 16);
    const rest = path + digits.slice(kind % 2 ? 1 : 2);
    if (kind > 1) leaves.set(rest, list[1]);
    else walk(list[1], rest, leaves);
  }
  return leaves;
}

const head = read(`!blocks!${read("!blocks!length") - 1}`);
const word = (hex) => `0x${hex.padStart(64, "0")}`;
const accounts = walk(bytes(head.header.stateRoot), "", new Map());
const found = {};
for (const [name, address] of Object.entries(addresses)) {
  const account = accounts.get(address.slice(2).toLowerCase());
  if (!account) continue;
  const [, , root, code] = rlp(account)[0];
  const slots = [...walk(root, "", new Map())];
  const storage = Object.fromEntries(slots.map(([slot, value]) => [word(slot), word(rlp(value)[0].toString("hex"))]));
  found[name] = { address, code: `0x${node(code).toString("hex")}`, storage };
}
process.stdout.write(JSON.stringify(found));
