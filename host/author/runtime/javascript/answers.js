// Features as model.js receives them, and its answers, checked: an error names the field.

const KINDS = ['credit', 'boost', 'sybil'];
const RATINGS = ['low', 'fair', 'good', 'very-good', 'excellent'];
/** The numbers of 64 bits. */
const COUNTS = {
  chains: ['chainId', 'firstTransaction', 'lastTransaction', 'transactions', 'transfers', 'medianGap'],
  markets: [
    'chainId', 'supply', 'withdraw', 'borrow', 'repay', 'liquidation', 'firstEvent', 'lastEvent', 'lastLiquidation',
  ],
  identity: ['issued', 'expires'],
};

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

const FEATURES = guard('features');
const LISTS = Object.fromEntries(['chains', 'markets', 'holdings', 'identity'].map((list) => [list, guard(list)]));
const OFF_CHAIN = guard('offChain');

/** The same figures about the subject from the caller. */
export function vouched(offChain) {
  return Object.setPrototypeOf(offChain, OFF_CHAIN);
}

/** The same features. componentize-qjs gives an unsigned number of 64 bits as a signed one; what is null stays null. */
export function plain(features) {
  unsign(features, ['asOf']);
  for (const list in COUNTS) {
    for (const record of features[list]) unsign(record, COUNTS[list]);
  }
  for (const list in LISTS) {
    for (const record of features[list]) Object.setPrototypeOf(record, LISTS[list]);
  }
  return Object.setPrototypeOf(features, FEATURES);
}

function unsign(record, names) {
  for (let i = 0; i < names.length; i += 1) {
    if (record[names[i]] < 0) record[names[i]] += 2 ** 64;
  }
}

export function whole(what, verb, value) {
  if (Number.isInteger(value)) return value;
  throw new TypeError(`${what} ${verb} ${typeof value === 'number' ? value : typeof value}: a whole number is needed`);
}

function words(what, value) {
  if (typeof value === 'string') return value;
  throw new TypeError(`${what} is ${typeof value}: a text is needed`);
}

function known(what, value, all) {
  if (all.includes(words(what, value))) return value;
  throw new TypeError(`${what} is '${value}': there are ${all.join(', ')}`);
}

function list(what, value) {
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
  const { kind, version, title, authors, reads } = info ?? {};
  const texts = (what, values) => list(what, values).map((value) => words(what, value));
  return {
    kind: known('kind', kind, KINDS),
    version: words('version', version),
    title: words('title', title),
    authors: texts('authors', authors),
    reads: texts('reads', reads),
  };
}

/** The answer of `score`: a refusal or an assessment. */
export function assessed(answer) {
  if (answer?.refused === 'no-activity') return { refusal: { tag: 'no-activity' } };
  if (answer?.missing !== undefined) return { refusal: { tag: 'missing', val: words('missing', answer.missing) } };
  present('score', answer);
  const { score, decile, factors } = answer ?? {};
  return {
    assessment: {
      score: whole('score', 'is', score),
      decile: whole('decile', 'is', decile),
      factors: list('factors', factors).map(factor),
    },
  };
}

/** The answer of `risk`. */
export function judged(answer) {
  present('risk', answer);
  const { risk, factors } = answer ?? {};
  return { risk: whole('risk', 'is', risk), factors: list('factors', factors).map(factor) };
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
