// Numbers, times and names as people read them.

/** @type {Record<number, string>} */
const CHAINS = {
  1: "Ethereum",
  10: "Optimism",
  56: "BNB Smart Chain",
  100: "Gnosis",
  137: "Polygon",
  143: "Monad",
  146: "Sonic",
  196: "X Layer",
  250: "Fantom",
  324: "zkSync Era",
  1088: "Metis",
  1868: "Soneium",
  4326: "MegaETH",
  5000: "Mantle",
  8453: "Base",
  9745: "Plasma",
  42161: "Arbitrum One",
  42220: "Celo",
  43114: "Avalanche",
  57073: "Ink",
  59144: "Linea",
  534352: "Scroll",
};

/**
 * Where people look at a wallet.
 * @type {Record<number, string>}
 */
export const EXPLORERS = {
  1: "etherscan.io",
  10: "optimistic.etherscan.io",
  56: "bscscan.com",
  100: "gnosisscan.io",
  137: "polygonscan.com",
  143: "monadscan.com",
  146: "sonicscan.org",
  1088: "explorer.metis.io",
  1868: "soneium.blockscout.com",
  4326: "mega.etherscan.io",
  5000: "mantlescan.xyz",
  8453: "basescan.org",
  9745: "plasmascan.to",
  42161: "arbiscan.io",
  42220: "celoscan.io",
  43114: "snowscan.xyz",
  57073: "explorer.inkonchain.com",
  59144: "lineascan.build",
  534352: "scrollscan.com",
};

/** @param {number} id */
export const chain = (id) => CHAINS[id] ?? `Chain ${id}`;

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const some = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 6 });
const dollar = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumFractionDigits: 2 });

const cent = new Intl.NumberFormat("en", {
  style: "currency",
  currency: "USD",
  minimumFractionDigits: 2,
  maximumFractionDigits: 4,
});

/** @param {string} text */
const minus = (text) => text.replace("-", "−");

export const NOT_KNOWN = "–";
/**
 * @template T
 * @param {(value: T) => string} format
 * @returns {(value: T | null | undefined) => string}
 */
const or = (format) => (value) => (value === null || value === undefined ? NOT_KNOWN : format(value));

export const count = or((/** @type {number} */ value) => minus(whole.format(value)));
export const number = or((/** @type {number} */ value) => minus(some.format(value)));
export const dollars = or((/** @type {number} */ value) => minus(dollar.format(value)));
export const cents = or((/** @type {number} */ value) => cent.format(value));
/** An amount of tokens, as the API writes it. */
export const amount = or((/** @type {string} */ value) => fine.format(Number(value)));
export const percent = or((/** @type {number} */ value) => `${some.format(value * 100)} %`);
export const signed = or((/** @type {number} */ value) =>
  value > 0 ? `+${some.format(value)}` : minus(some.format(value)),
);
export const range = or((/** @type {string} */ name) => name.replace("_", " "));
export const day = or((/** @type {string} */ time) => time.slice(0, 10));
export const moment = or((/** @type {string} */ time) => `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`);
export const bytes = or((/** @type {number} */ value) =>
  value < 1024 ? `${value} B` : `${some.format(value / 1024)} KiB`,
);

/**
 * The names by which people know the protocols, by those of the API.
 * @type {Record<string, string>}
 */
const PROTOCOLS = {
  lenderA_v2: "Aave v2",
  lenderA_v3: "Aave v3",
  lenderB_v2: "Compound v2",
  lenderB_v3: "Compound v3",
  morpho_blue: "Morpho Blue",
  maker_vaults: "Maker vaults",
  fluid: "Fluid",
  euler_v2: "Euler v2",
};

/** @param {string} name */
export const protocol = (name) => PROTOCOLS[name] ?? name;

/**
 * A sentence of the server that begins with the name of a protocol.
 * @param {string} text
 */
export const protocolIn = (text) => text.replace(/^\w+/, protocol);

/**
 * A lending market, by its protocol, its name and its chain.
 * @param {{ protocol: string; market?: string | null; chain_id: number }} pool
 */
export const market = ({ protocol: name, market, chain_id: id }) =>
  `${protocol(name)}${market ? ` ${market}` : ""} on ${chain(id)}`;

/**
 * A market as changes name it: `chain_id/protocol`, or `chain_id/protocol/market`.
 * @param {Pick<Api.Pool, "protocol" | "market" | "chain_id">} pool
 */
export const marketId = ({ protocol, market, chain_id: id }) => `${id}/${protocol}${market ? `/${market}` : ""}`;

/** @param {string} text */
export const marketOf = (text) => {
  const [id, protocol, ...market] = text.split("/");
  return { chain_id: Number(id), protocol, market: market.join("/") };
};

/**
 * Classes of assets whose prices move together.
 * @type {Record<string, string>}
 */
export const CLASSES = {
  native: "ether and other native currencies",
  bitcoin: "bitcoin",
  stablecoin: "stablecoins",
  other: "other assets",
};

/** A span of time in its largest unit. */
export const span = or((/** @type {number} */ seconds) => {
  const [value, unit] =
    seconds < 120
      ? [seconds, "s"]
      : seconds < 7200
        ? [seconds / 60, "min"]
        : seconds < 172_800
          ? [seconds / 3600, "h"]
          : [seconds / 86_400, "days"];
  return `${whole.format(value)} ${unit}`;
});

/**
 * `1 unit`, `2 units`.
 * @param {number | null | undefined} value
 * @param {string} one
 * @param {string} [many]
 */
export const several = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** @param {string | null | undefined} digest */
export const short = (digest) => (digest ? `${digest.slice(0, 10)}…` : NOT_KNOWN);

/**
 * The named ranges of scores, lowest first, with the lowest and the highest score of each.
 * @type {[name: Api.Range, least: number, most: number][]}
 */
export const RANGES = [
  ["low", 300, 639],
  ["fair", 640, 749],
  ["good", 750, 839],
  ["very_good", 840, 919],
  ["excellent", 920, 1000],
];
