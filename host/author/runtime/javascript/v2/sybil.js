// The exports of a sybil model of wit/v2 in JavaScript, around the functions of model.js.

import { complete, described, explained, plain, risked } from './answers.js';
import { kept, printed } from './confined.js';
import * as model from '../../model.js';

complete(model, 'sybil', ['describe', 'risk', 'explain']);

export const sybil = {
  describe: () => kept(() => described(model.describe())),
  risk: (features) => kept(() => risked(model.risk(plain(features)))),
  explain: (features) => kept(() => explained(model.explain(plain(features)))),
};
export { printed };
