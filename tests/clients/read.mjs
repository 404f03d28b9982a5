// Reads what a credit score needs about one wallet, the ordinary way: balances and positions by multicall, lending
// events by ranges of logs, the first and the last transaction by a binary search over the nonce. Prints one line of
// JSON. WHAT: { wallet or name, registry, span, chains: [{ url, multicall, pool, oracle, data, fromBlock, tokens,
// reserves, feeds }] }.
// node read.mjs WHAT
import { createPublicClient, http, namehash, parseAbi, parseAbiItem } from "viem";

const abi = parseAbi([
  "function balanceOf(address owner) view returns (uint256)",
  "function getAssetPrice(address asset) view returns (uint256)",
  "function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)",
  "function getUserReserveData(address asset, address user) view returns (uint256 supplied, uint256 stable, uint256 variable, uint256, uint256, uint256, uint256, uint40, bool)",
  "function resolver(bytes32 node) view returns (address)",
  "function addr(bytes32 node) view returns (address)",
]);
const events = [
  ["onBehalfOf", "event Supply(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint16 indexed referralCode)"],
  ["user", "event Withdraw(address indexed reserve, address indexed user, address indexed to, uint256 amount)"],
  ["onBehalfOf", "event Borrow(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint8 interestRateMode, uint256 borrowRate, uint16 indexed referralCode)"],
  ["user", "event Repay(address indexed reserve, address indexed user, address indexed repayer, uint256 amount, bool useATokens)"],
  ["user", "event LiquidationCall(address indexed collateralAsset, address indexed debtAsset, address indexed user, uint256 debtToCover, uint256 liquidatedCollateralAmount, address liquidator, bool receiveAToken)"],
].map(([named, text]) => [named, parseAbiItem(text)]);

const what = JSON.parse(process.argv[2]);
const clients = what.chains.map(({ url }) => createPublicClient({ transport: http(url) }));

async function owner() {
  if (!what.name) return what.wallet;
  const node = namehash(what.name);
  const ask = (address, functionName) => clients[0].readContract({ address, abi, functionName, args: [node] });
  return ask(await ask(what.registry, "resolver"), "addr");
}

/** Balances, positions and prices. */
async function state(client, chain, wallet, blockNumber) {
  const call = (address, functionName, args = []) => ({ address, abi, functionName, args });
  const contracts = [
    ...chain.tokens.map((token) => call(token, "balanceOf", [wallet])),
    ...chain.reserves.flatMap((asset) => [
      call(chain.data, "getUserReserveData", [asset, wallet]),
      call(chain.oracle, "getAssetPrice", [asset]),
    ]),
    ...chain.feeds.map((feed) => call(feed, "latestRoundData")),
  ];
  const [ether, answers] = await Promise.all([
    client.getBalance({ address: wallet, blockNumber }),
    client.multicall({ contracts, blockNumber, multicallAddress: chain.multicall }),
  ]);
  return { ether, unread: answers.filter(({ status }) => status !== "success").length };
}

/** How many lending events, and the times of the first and the last one. */
async function history(client, chain, wallet, head) {
  const ranges = [];
  for (let from = BigInt(chain.fromBlock); from <= head; from += BigInt(what.span)) {
    const to = from + BigInt(what.span) - 1n;
    ranges.push([from, to < head ? to : head]);
  }
  const asked = ranges.flatMap(([fromBlock, toBlock]) => events.map(([named, event]) =>
    client.getLogs({ address: chain.pool, event, args: { [named]: wallet }, fromBlock, toBlock })));
  const blocks = (await Promise.all(asked)).flat().map((log) => log.blockNumber);
  if (blocks.length === 0) return { events: 0 };
  const ends = blocks.reduce(([low, high], at) => [at < low ? at : low, at > high ? at : high], [blocks[0], blocks[0]]);
  const [first, last] = await Promise.all(ends.map((blockNumber) => client.getBlock({ blockNumber })));
  return { events: blocks.length, firstEvent: Number(first.timestamp), lastEvent: Number(last.timestamp) };
}

/** How many transactions, and the times of the first and the last one. */
async function activity(client, wallet, head) {
  const nonce = (blockNumber) => client.getTransactionCount({ address: wallet, blockNumber });
  const transactions = await nonce(head);
  if (transactions === 0) return { transactions };
  const reached = async (count) => {
    let [low, high] = [0n, head];
    while (low < high) {
      const middle = (low + high) / 2n;
      if ((await nonce(middle)) >= count) high = middle;
      else low = middle + 1n;
    }
    return Number((await client.getBlock({ blockNumber: low })).timestamp);
  };
  const [first, last] = await Promise.all([reached(1), reached(transactions)]);
  return { transactions, first, last };
}

const started = performance.now();
const wallet = await owner();
const read = await Promise.all(what.resolveOnly ? [] : what.chains.map(async (chain, index) => {
  const client = clients[index];
  const head = await client.getBlockNumber();
  const [{ unread }, lent, sent] = await Promise.all([
    state(client, chain, wallet, head),
    history(client, chain, wallet, head),
    activity(client, wallet, head),
  ]);
  return { unread, ...lent, ...sent };
}));
console.log(JSON.stringify({ wallet, milliseconds: performance.now() - started, chains: read }));
