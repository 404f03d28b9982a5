// The exports of a sandbox generator of wit/v2 in JavaScript, around the functions of model.js.

import { complete, described, explained, vouched, whole } from './answers.js';
import { kept, printed } from './confined.js';
import { behaved, reported, scripted, valued } from './mock.js';
import * as model from '../../model.js';

complete(model, 'sandbox', [
  'describe', 'score', 'boostedScore', 'factors', 'report', 'portfolio', 'scenarios', 'behaviourOf',
]);

/** The 20 bytes of an address as model.js receives them: text, as tools write it. */
const hex = (bytes) => `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;

const asked = ({ tag, val }) => (tag === 'address' ? { address: hex(val) } : { agent: val });

export const sandbox = {
  describe: () => kept(() => described(model.describe())),
  score: (address) => kept(() => whole('score', 'answers', model.score(hex(address)))),
  boostedScore: (address, offChain) =>
    kept(() => whole('boostedScore', 'answers', model.boostedScore(hex(address), vouched(offChain)))),
  factors: (address) => kept(() => explained(model.factors(hex(address)))),
  report: (address) => kept(() => reported(model.report(hex(address)))),
  portfolio: (address) => kept(() => valued(model.portfolio(hex(address)))),
  scenarios: () => kept(() => scripted(model.scenarios())),
  behaviourOf: (subject) => kept(() => behaved(model.behaviourOf(asked(subject)))),
};
export { printed };
