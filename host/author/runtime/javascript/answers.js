// Features as model.js receives them, and its answers, checked: an error names the field.

import { kept } from './confined.js';

const KINDS = ['credit', 'boost', 'sybil', 'sandbox'];
const RATINGS = ['low', 'fair', 'good', 'very-good', 'excellent'];
const own = Object.prototype;

/** The prototype of a record: reading a field that the record does not have fails with its name. */
function guard(what) {
  return new Proxy(own, {
    get(_, name, record) {
      if (typeof name === 'symbol' || name in own || name === 'toJSON') return own[name];
      throw new TypeError(`${what} has no field ${name}: it has ${Object.keys(record).join(', ')}`);
    },
  });
}

const { setPrototypeOf } = Object;

/** A record: how errors call it, its numbers of 64 bits, and the records in it. */
function record(what, counts, inner = {}) {
  return { guard: guard(what), counts, names: Object.keys(inner), inner: Object.values(inner) };
}

const EXPOSURE = record('an exposure', []);
const MARKET = record(
  'markets',
  ['chainId', 'supply', 'withdraw', 'borrow', 'repay', 'liquidation', 'firstEvent', 'lastEvent', 'lastLiquidation'],
  {
    events: record('events', ['time']),
    dollars: record('dollars', []),
    position: record('position', [], { collateral: EXPOSURE, debt: EXPOSURE }),
  },
);
const FEATURES = record('features', ['asOf'], {
  chains: record('chains', [
    'chainId', 'firstTransaction', 'lastTransaction', 'transactions', 'transfers', 'medianGap',
  ]),
  markets: MARKET,
  holdings: record('holdings', []),
  identity: record('identity', ['issued', 'expires']),
});
const OFF_CHAIN = record('offChain', []);

/** The same figures about the subject from the caller. */
export function vouched(offChain) {
  return shown(offChain, OFF_CHAIN);
}

/** The same features. componentize-qjs gives an unsigned number of 64 bits as a signed one; what is null stays null. */
export function plain(features) {
  return shown(features, FEATURES);
}

/** Runs for every record of every call, so it destructures nothing. wit/v1 lacks some of the inner records. */
function shown(value, record) {
  const { counts, names, inner } = record;
  for (let i = 0; i < counts.length; i += 1) {
    if (value[counts[i]] < 0) value[counts[i]] += 2 ** 64;
  }
  for (let i = 0; i < names.length; i += 1) {
    const held = value[names[i]];
    if (held?.length === undefined) {
      if (held) shown(held, inner[i]);
    } else {
      for (let at = 0; at < held.length; at += 1) shown(held[at], inner[i]);
    }
  }
  return setPrototypeOf(value, record.guard);
}

export function whole(what, verb, value) {
  if (Number.isInteger(value)) return value;
  throw new TypeError(`${what} ${verb} ${typeof value === 'number' ? value : typeof value}: a whole number is needed`);
}

export function number(what, value) {
  if (typeof value === 'number') return value;
  throw new TypeError(`${what} is ${typeof value}: a number is needed`);
}

export function words(what, value) {
  if (typeof value === 'string') return value;
  throw new TypeError(`${what} is ${typeof value}: a text is needed`);
}

export function known(what, value, all) {
  if (all.includes(words(what, value))) return value;
  throw new TypeError(`${what} is '${value}': there are ${all.join(', ')}`);
}

export function list(what, value) {
  if (Array.isArray(value)) return value;
  throw new TypeError(`${what} is ${typeof value}: a list is needed`);
}

/** Fails where the model lacks a function of its kind. */
export function complete(model, kind, names) {
  const missing = names.find((name) => typeof model[name] !== 'function');
  if (missing === undefined) return;
  const rest = `A ${kind} model has ${names.join(', ')}; another kind says so in model.js, as kind: 'sybil'`;
  throw new Error(`model.js exports no function ${missing}. ${rest}`);
}

export function described(info) {
  const { kind, version, title, authors, reads, claims } = info ?? {};
  const texts = (what, values) => list(what, values).map((value) => words(what, value));
  return {
    kind: known('kind', kind, KINDS),
    version: words('version', version),
    title: words('title', title),
    authors: texts('authors', authors),
    reads: texts('reads', reads),
    claims: claims == null ? null : claimed(claims),
  };
}

/** What a model of wit/v2 says of the future. */
function claimed({ outcome, horizonDays, population, rates }) {
  return {
    outcome: words('the outcome of claims', outcome),
    horizonDays: whole('the horizonDays of claims', 'are', horizonDays),
    population: words('the population of claims', population),
    rates: list('the rates of claims', rates).map(({ range, ...shares }) => {
      const share = (name) => number(`the ${name} of the rate ${range}`, shares[name]);
      return {
        range: known('the range of a rate', range, RATINGS),
        low: share('low'),
        estimate: share('estimate'),
        high: share('high'),
      };
    }),
  };
}

/** The answer of `work`, checked. A refusal of the wallet is an error of the component's interface. */
export function refusing(work, check) {
  const { refusal, answer } = kept(() => {
    const given = work();
    if (given?.refused === 'no-activity') return { refusal: { tag: 'no-activity' } };
    if (given?.missing !== undefined) return { refusal: { tag: 'missing', val: words('missing', given.missing) } };
    return { answer: check(given) };
  });
  if (refusal) throw refusal;
  return answer;
}

/** The answer of `score` in wit/v1. */
export function assessed(answer) {
  present('score', answer);
  const { score, decile, factors } = answer ?? {};
  return {
    score: whole('score', 'is', score),
    decile: whole('decile', 'is', decile),
    factors: worded(answer, factors),
  };
}

/** The answer of `risk` in wit/v1. */
export function judged(answer) {
  present('risk', answer);
  const { risk, factors } = answer ?? {};
  return { risk: whole('risk', 'is', risk), factors: worded(answer, factors) };
}

function worded(answer, factors) {
  if (factors !== undefined || answer.points === undefined) return list('factors', factors).map(factor);
  throw new TypeError('the answer has points without factors, as in wit/v2: there `describe` has `claims`, such as null');
}

/** The answer of `score` in wit/v2. */
export function scored(answer) {
  present('score', answer);
  const { score, decile, points } = answer ?? {};
  return { score: whole('score', 'is', score), decile: whole('decile', 'is', decile), points: earned(answer, points) };
}

/** The answer of `risk` in wit/v2. */
export function risked(answer) {
  present('risk', answer);
  const { risk, points } = answer ?? {};
  return { risk: whole('risk', 'is', risk), points: earned(answer, points) };
}

function earned(answer, points) {
  if (points !== undefined || answer.factors === undefined) {
    return list('points', points).map((one) => whole('the points of a factor', 'are', one));
  }
  throw new TypeError('the answer has factors, which `explain` gives in wit/v2: there should be points, a list of numbers');
}

/** The answer of `explain`. */
export function explained(answer) {
  present('explain', answer);
  return list('the answer of explain', answer).map(factor);
}

function present(what, answer) {
  if (typeof answer?.then === 'function') throw new TypeError(`${what} is async: a model cannot wait`);
}

function factor({ label, rating, description, points, possible }) {
  const of = (what) => `the ${what} of the factor ${label}`;
  if (!RATINGS.includes(rating)) throw new TypeError(`${of('rating')} is ${rating}: there are ${RATINGS.join(', ')}`);
  return {
    label: words('the label of a factor', label),
    rating,
    description: words(of('description'), description),
    points: whole(of('points'), 'are', points),
    possible: whole(of('possible points'), 'are', possible),
  };
}
