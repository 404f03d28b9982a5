// Compares the stubs of Euler v2 with the original contracts: does the same with both on a chain node, and compares the
// logs of vaults and connector, the slots of accounts, and views. The argument is the folder with checkouts of
// euler-xyz/euler-vault-kit and euler-xyz/ethereum-vault-connector. Exits with 1 if something differs.
//
// Debts of the original grow with time, and its liquidator may take another share: amounts are not compared from the
// first liquidation on. The sums of the original's logs must equal its slots after each step.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const sources = process.argv[2];
if (!sources) {
  console.error("usage: compare.mjs FOLDER, with euler-vault-kit and ethereum-vault-connector");
  process.exit(2);
}
const tests = join(import.meta.dirname, "..");
const require = createRequire(join(tests, "package.json"));
const solc = require("solc");
const viem = require("viem");

const PORT = 18_999;
const USD = "0x0000000000000000000000000000000000000348";
const ALL = 2n ** 256n - 1n;
const OWED = 2n ** 143n - 1n;
const SHARES = 2n ** 112n - 1n;

/** A token without allowances, in a form that the original accepts. */
const TOKEN = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;
contract Tracker {
    function balanceTrackerHook(address, uint256, bool) external {}
}
contract FreeToken {
    uint8 public decimals;
    mapping(address => uint256) public balanceOf;
    constructor(uint8 places) { decimals = places; }
    function mint(address to, uint256 amount) external { balanceOf[to] += amount; }
    function move(address from, address to, uint256 amount) public {
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
    }
    function transfer(address to, uint256 amount) external returns (bool) { move(msg.sender, to, amount); return true; }
    function transferFrom(address from, address to, uint256 amount) external returns (bool) {
        move(from, to, amount);
        return true;
    }
}`;
const MODULES = [
  "Initialize",
  "Token",
  "Vault",
  "Borrowing",
  "Liquidation",
  "RiskManager",
  "BalanceForwarder",
  "Governance",
];
const ORIGINALS = [
  "evk/src/EVault/EVault.sol",
  "evk/src/GenericFactory/GenericFactory.sol",
  "evk/src/ProtocolConfig/ProtocolConfig.sol",
  "evk/src/SequenceRegistry/SequenceRegistry.sol",
  "evk/test/mocks/MockPriceOracle.sol",
  "evk/test/mocks/IRMTestFixed.sol",
  "ethereum-vault-connector/EthereumVaultConnector.sol",
  ...MODULES.map((name) => `evk/src/EVault/modules/${name}.sol`),
];

/** The file of an import. */
function file(name) {
  const within = (start, ...folder) => name.startsWith(start) && join(...folder, name.slice(start.length));
  return (
    within("openzeppelin-contracts/", tests, "node_modules/@openzeppelin/contracts") ||
    within("ethereum-vault-connector/", sources, "ethereum-vault-connector/src") ||
    within("evk/", sources, "euler-vault-kit")
  );
}

/** Interface and code of each contract, by name. */
function compiled(files) {
  const settings = {
    optimizer: { enabled: true, runs: 1 },
    evmVersion: "cancun",
    outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
  };
  const input = { language: "Solidity", sources: files, settings };
  const found = (name) => ({ contents: readFileSync(file(name), "utf8") });
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: found }));
  const errors = (output.errors ?? []).filter((error) => error.severity === "error");
  if (errors.length) throw new Error(errors[0].formattedMessage);
  const contracts = Object.values(output.contracts).flatMap((of) => Object.entries(of));
  const both = ({ abi, evm }) => ({ abi, code: `0x${evm.bytecode.object}` });
  return Object.fromEntries(contracts.map(([name, contract]) => [name, both(contract)]));
}

const content = (path) => ({ content: readFileSync(path, "utf8") });
const original = compiled({
  ...Object.fromEntries(ORIGINALS.map((name) => [name, content(file(name))])),
  "FreeToken.sol": { content: TOKEN },
});
const stub = compiled({ "Euler.sol": content(join(tests, "contracts/Euler.sol")) });

const options = ["--port", String(PORT), "--auto-impersonate", "--silent", "--hardfork", "cancun"];
const anvil = join(tests, "node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil");
const node = spawn(anvil, [...options, "--code-size-limit", "200000"], { stdio: "ignore" });
process.on("exit", () => node.kill());

async function rpc(method, ...params) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const headers = { "content-type": "application/json" };
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${PORT}`, { method: "POST", headers, body }).catch(() => undefined);
    if (!answer) continue;
    const { result, error } = await answer.json();
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }
}

const encoded = (abi, functionName, args) => viem.encodeFunctionData({ abi, functionName, args });

/** The receipt of a transaction, which may have failed. */
async function send(from, to, data) {
  await rpc("anvil_setBalance", from, "0x56bc75e2d63100000");
  const hash = await rpc("eth_sendTransaction", { from, to, data, gas: "0x1c9c380" });
  for (;;) {
    const receipt = await rpc("eth_getTransactionReceipt", hash);
    if (receipt) return receipt;
  }
}

async function done(from, to, data) {
  const receipt = await send(from, to, data);
  if (receipt.status !== "0x1") throw new Error(`a transaction to ${to} failed`);
  return receipt;
}

async function view(abi, to, functionName, args) {
  const data = await rpc("eth_call", { to, data: encoded(abi, functionName, args) }, "latest");
  return viem.decodeFunctionResult({ abi, functionName, data });
}

const [A, B, BANK, OPERATOR] = ["a0", "b0", "d0", "c0"].map((byte) => `0x${byte.repeat(19)}00`);
const [A1, A2] = ["01", "02"].map((number) => A.slice(0, -2) + number);
const create = async ({ abi, code }, args = []) =>
  (await done(BANK, undefined, viem.encodeDeployData({ abi, bytecode: code, args }))).contractAddress;
const newest = async (abi, factory) => (await view(abi, factory, "getProxyListSlice", [0n, ALL])).at(-1);
const VAULT = original.EVault.abi;
const CONNECTOR = original.EthereumVaultConnector.abi;

async function originals() {
  const evc = await create(original.EthereumVaultConnector);
  const integrations = {
    evc,
    protocolConfig: await create(original.ProtocolConfig, [BANK, B]),
    sequenceRegistry: await create(original.SequenceRegistry),
    balanceTracker: await create(original.Tracker),
    permit2: viem.zeroAddress,
  };
  const modules = {};
  for (const name of MODULES) {
    modules[name[0].toLowerCase() + name.slice(1)] = await create(original[name], [integrations]);
  }
  const [factory, oracle] = [await create(original.GenericFactory, [BANK]), await create(original.MockPriceOracle)];
  const implementation = await create(original.EVault, [integrations, modules]);
  const FACTORY = original.GenericFactory.abi;
  await done(BANK, factory, encoded(FACTORY, "setImplementation", [implementation]));
  const world = { evc, vaults: {}, tokens: {} };
  for (const [name, decimals] of [["usdc", 6], ["weth", 18]]) {
    const token = await create(original.FreeToken, [decimals]);
    const metadata = viem.encodePacked(["address", "address", "address"], [token, oracle, USD]);
    await done(BANK, factory, encoded(FACTORY, "createProxy", [viem.zeroAddress, true, metadata]));
    const vault = await newest(FACTORY, factory);
    await done(BANK, vault, encoded(VAULT, "setHookConfig", [viem.zeroAddress, 0]));
    await done(BANK, vault, encoded(VAULT, "setMaxLiquidationDiscount", [1_000]));
    [world.tokens[name], world.vaults[name]] = [token, vault];
  }
  await done(BANK, world.vaults.usdc, encoded(VAULT, "setLTV", [world.vaults.weth, 8_400, 8_500, 0]));
  const set = (token, price) =>
    done(BANK, oracle, encoded(original.MockPriceOracle.abi, "setPrice", [token, USD, price]));
  world.price = async (dollars) => {
    await set(world.tokens.usdc, 10n ** 30n);
    await set(world.tokens.weth, BigInt(dollars) * 10n ** 18n);
  };
  world.accrue = async () => {
    const model = await create(original.IRMTestFixed);
    await done(BANK, world.vaults.usdc, encoded(VAULT, "setInterestRateModel", [model]));
    await done(BANK, world.vaults.usdc, encoded(VAULT, "touch", []));
    await rpc("evm_increaseTime", 365 * 86_400);
    await rpc("evm_mine");
  };
  return world;
}

async function stubs() {
  const evc = await create(stub.EulerConnector);
  const [factory, oracle] = [await create(stub.EulerFactory, [evc]), await create(stub.EulerOracle)];
  const world = { evc, vaults: {}, tokens: {} };
  for (const [name, decimals] of [["usdc", 6], ["weth", 18]]) {
    const token = await create(stub.EulerToken, [decimals]);
    await done(BANK, factory, encoded(stub.EulerFactory.abi, "createVault", [token, oracle]));
    [world.tokens[name], world.vaults[name]] = [token, await newest(stub.EulerFactory.abi, factory)];
  }
  const STUB = stub.EulerVault.abi;
  await done(BANK, world.vaults.usdc, encoded(STUB, "setLTV", [world.vaults.weth, 8_500]));
  const set = (token, price) => done(BANK, oracle, encoded(stub.EulerOracle.abi, "setPrice", [token, price]));
  world.price = async (dollars) => {
    await set(world.tokens.usdc, 10n ** 18n);
    await set(world.tokens.weth, BigInt(dollars) * 10n ** 18n);
  };
  world.accrue = () => done(BANK, world.vaults.usdc, encoded(STUB, "accrue", [110n]));
  return world;
}

const dollars = (amount) => BigInt(amount) * 10n ** 6n;
const ether = (thousandths) => BigInt(thousandths) * 10n ** 15n;
const itself = (from, name, call, ...args) => (world) => send(from, world.vaults[name], encoded(VAULT, call, args));
const of = (name, account, call, ...args) => (world) => ({
  targetContract: world.vaults[name],
  onBehalfOfAccount: account,
  value: 0n,
  data: encoded(VAULT, call, args.map((arg) => world.vaults[arg] ?? arg)),
});
const enabled = (account) =>
  [["enableCollateral", "weth"], ["enableController", "usdc"]].map(([call, name]) => (world) => ({
    targetContract: world.evc,
    onBehalfOfAccount: viem.zeroAddress,
    value: 0n,
    data: encoded(CONNECTOR, call, [account, world.vaults[name]]),
  }));
const batch = (from, ...items) => (world) =>
  send(from, world.evc, encoded(CONNECTOR, "batch", [items.flat().map((item) => item(world))]));
const allow = (world) => send(A, world.evc, encoded(CONNECTOR, "setAccountOperator", [A1, OPERATOR, true]));
const price = (dollars) => ({ price: dollars });

// What is done, and from which step on the amounts are not compared.
const EXACT = 22;
const STEPS = [
  ["a deposit of dollars", itself(BANK, "usdc", "deposit", dollars(1_000_000), BANK)],
  ["a deposit of ether", itself(BANK, "weth", "deposit", ether(1_000_000), BANK)],
  ["a deposit by a call of the vault", itself(A, "weth", "deposit", ether(10_000), A)],
  ["a loan in a batch", batch(A, enabled(A), of("usdc", A, "borrow", dollars(5_000), A))],
  ["a flag of an account with shares", itself(A, "weth", "enableBalanceForwarder")],
  ["a flag of an account with debt", itself(A, "usdc", "enableBalanceForwarder")],
  ["a flag of an empty account", batch(A, of("usdc", A1, "enableBalanceForwarder"))],
  ["a repayment by a call of the vault", itself(A, "usdc", "repay", dollars(1_000), A)],
  [
    "a loan of another account",
    batch(A, enabled(A1), of("weth", A1, "deposit", ether(5_000), A1), of("usdc", A1, "borrow", dollars(2_000), A)),
  ],
  ["debt of an own account", batch(A, of("usdc", A, "pullDebt", dollars(500), A1))],
  ["an account without its flag", itself(A, "weth", "disableBalanceForwarder")],
  ["shares for an own account", itself(A, "weth", "transfer", A1, ether(1_000))],
  ["a gift of shares", itself(BANK, "weth", "transfer", A2, ether(500))],
  ["a deposit for another", itself(B, "usdc", "deposit", dollars(700), A)],
  ["a repayment with shares", batch(A, of("usdc", A, "repayWithShares", dollars(300), A))],
  ["an operator", allow],
  ["a loan by the operator", batch(OPERATOR, of("usdc", A1, "borrow", dollars(100), A))],
  ["a repayment for another", itself(B, "usdc", "repay", dollars(100), A)],
  ["a withdrawal", itself(A, "usdc", "withdraw", dollars(150), A, A)],
  ["a withdrawal of everything", itself(A, "usdc", "redeem", ALL, A, A)],
  [
    "debt of another",
    batch(B, enabled(B), of("weth", B, "deposit", ether(900_000), B), of("usdc", B, "pullDebt", dollars(250), A)),
  ],
  ["a liquidation of a healthy account", batch(B, of("usdc", B, "liquidate", A1, "weth", ALL, 0n))],
  ["a price", price(300)],
  ["a liquidation in part", batch(B, of("usdc", B, "liquidate", A1, "weth", dollars(200), 0n))],
  ["a lower price", price(150)],
  ["a liquidation that writes debt off", batch(B, of("usdc", B, "liquidate", A1, "weth", ALL, 0n))],
  ["the first price", price(2_000)],
  ["interest", "accrue"],
  ["a repayment after interest", itself(A, "usdc", "repay", dollars(10), A)],
  ["interest again", "accrue"],
  ["a borrowing after interest", batch(A, of("usdc", A, "borrow", dollars(10), A))],
];

const UNREAD = ["AccountStatusCheck", "VaultStatusCheck", "VaultStatus", "Approval"];

/** The logs of vaults and connector in a receipt, with names instead of addresses. */
function logs(world, receipt) {
  const named = { ...world.vaults, evc: world.evc, A, A1, A2, B, BANK, OPERATOR };
  const names = new Map(Object.entries(named).map(([name, address]) => [address.toLowerCase(), name]));
  return receipt.logs.flatMap((log) => {
    const contract = names.get(log.address.toLowerCase());
    if (!contract || contract.length < 2) return [];
    const abi = contract === "evc" ? CONNECTOR : VAULT;
    const { eventName, args } = viem.decodeEventLog({ abi, data: log.data, topics: log.topics });
    if (UNREAD.includes(eventName)) return [];
    const words = Object.entries(args).map(([key, value]) => {
      const is = typeof value === "string" ? (names.get(value.toLowerCase()) ?? value) : value;
      return [key, is];
    });
    return [{ contract, eventName, args, words }];
  });
}

const shown = (log, isExact) => {
  const words = log.words.filter(([, value]) => isExact || typeof value !== "bigint");
  return `${log.contract}.${log.eventName}(${words.map(([key, value]) => `${key} ${value}`).join(", ")})`;
};

/** Adds what the logs of the original say to the sums of shares and debt by vault and account. */
function add(sums, found) {
  const change = (log, account, key, amount) => {
    const place = `${log.contract} ${account.toLowerCase()}`;
    sums[place] ??= { shares: 0n, debt: 0n };
    sums[place][key] += amount;
  };
  for (const log of found) {
    const { args, eventName } = log;
    if (eventName === "Transfer") {
      change(log, args.from, "shares", -args.value);
      change(log, args.to, "shares", args.value);
    }
    if (["Borrow", "InterestAccrued"].includes(eventName)) change(log, args.account, "debt", args.assets);
    if (eventName === "Repay") change(log, args.account, "debt", -args.assets);
  }
}

const worlds = [await originals(), await stubs()];
for (const world of worlds) {
  await world.price(2_000);
  for (const account of [A, A1, B, BANK]) {
    for (const token of Object.values(world.tokens)) {
      await done(BANK, token, encoded(original.FreeToken.abi, "mint", [account, 10n ** 30n]));
    }
  }
}

const wrong = [];
const sums = {};
for (const [index, [name, step]] of STEPS.entries()) {
  const isExact = index < EXACT;
  if (step === "accrue" || step.price) {
    for (const world of worlds) await (step.price ? world.price(step.price) : world.accrue());
    continue;
  }
  const found = [];
  for (const world of worlds) {
    const receipt = await step(world);
    if (receipt.status !== "0x1") wrong.push(`${name}: failed`);
    found.push(logs(world, receipt));
  }
  const [told, by] = found.map((all) => all.map((log) => shown(log, isExact)).join("\n  "));
  if (told !== by) wrong.push(`${name}: the original logs\n  ${told}\nand the stub\n  ${by}`);
  add(sums, found[0]);
  for (const vault of ["usdc", "weth"]) {
    for (const account of [A, A1, A2, B]) {
      const at = viem.keccak256(viem.concat([viem.pad(account), viem.pad("0x0d")]));
      const [word, other] = await Promise.all(
        worlds.map(async (world) => BigInt(await rpc("eth_getStorageAt", world.vaults[vault], at, "latest"))),
      );
      const [shares, debt] = [word & SHARES, (((word >> 112n) & OWED) + 2n ** 31n - 1n) >> 31n];
      const sum = sums[`${vault} ${account}`] ?? { shares: 0n, debt: 0n };
      const place = `${name}: ${vault} of ${account}`;
      if (sum.shares !== shares || sum.debt !== debt) wrong.push(`${place}: the slot is not the sum of the logs`);
      if (isExact && word !== other) wrong.push(`${place}: the stub has another slot`);
      const balance = await view(VAULT, worlds[0].vaults[vault], "balanceOf", [account]);
      if (balance !== shares) wrong.push(`${place}: the slot is not balanceOf`);
    }
  }
  if (isExact && index > 3) {
    const of = worlds.map((world) => view(VAULT, world.vaults.usdc, "accountLiquidity", [A, true]));
    const [one, other] = (await Promise.all(of)).map(String);
    if (one !== other) wrong.push(`${name}: accountLiquidity is ${one}, and ${other} of the stub`);
  }
}
console.log(wrong.join("\n") || `${STEPS.length} steps: logs, slots and views of the stubs are those of the originals`);
process.exit(wrong.length ? 1 : 0);
