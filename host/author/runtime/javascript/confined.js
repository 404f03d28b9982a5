// Keeps what a model prints, and what stopped it, where `assay model try` finds them; lets fail in words what a model
// may not do. It is imported before the model.

/** The most characters that are kept of what is printed. */
const MOST = 65_536;
const OWN = /(confined|answers|entry)\.js/;

let text = '';
let remains = [];

export const printed = () => text;

function shown(value) {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  return JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? `${inner}` : inner)) ?? String(value);
}

function print(...values) {
  if (text.length < MOST) text = `${text}${values.map(shown).join(' ')}\n`.slice(0, MOST);
}

const functions = ['log', 'info', 'warn', 'error', 'debug', 'trace'];
globalThis.console = Object.fromEntries(functions.map((name) => [name, print]));

function refuse(call, why) {
  throw new Error(`${call}: ${why}`);
}

const CLOCK = 'a model has no clock. Use features.asOf';
Math.random = () => refuse('Math.random()', 'a model has no randomness');
globalThis.Date = new Proxy(Date, {
  construct: (date, given) => (given.length ? Reflect.construct(date, given) : refuse('new Date()', CLOCK)),
  apply: () => refuse('Date()', CLOCK),
  get: (date, name) => (name === 'now' ? () => refuse('Date.now()', CLOCK) : date[name]),
});
globalThis.performance = { now: () => refuse('performance.now()', CLOCK) };

/** What `work` answers; an error is kept for the author. */
export function kept(work) {
  try {
    return work();
  } catch (error) {
    stopped(error);
    throw error;
  }
}

/** Keeps `error` where the host finds it in the memory of an instance that stopped: the words, and one place a line. */
function stopped(error) {
  const lines = String(error?.stack ?? '').split('\n').filter((line) => line.includes('.js:') && !OWN.test(line));
  const places = lines.map((line) => line.trim().replace(/^at (\S+) \((.*)\)$/, '$2 in $1').replace(/^at /, ''));
  const [first = 'model.js', ...callers] = places.map((place) => place.replace(/^(\.\/|\/)*/, ''));
  const called = callers.slice(0, 8).map((place) => `, called at ${place}`);
  const words = error instanceof Error ? `${error.name}: ${error.message}` : shown(error);
  keep('PANIC:', `panicked at ${first}: ${words}${called.join('')}`);
  keep('PRINT:', `printed:${text}`);
}

/** The host looks for the marks in memory, so nothing else may begin with them. */
function keep(mark, words) {
  const letters = `${words}\0`.replace(/[^\0-\x7e]/g, (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`);
  remains.push(Uint8Array.from(['ASSAY-', mark, letters].join(''), (letter) => letter.charCodeAt(0)));
}
