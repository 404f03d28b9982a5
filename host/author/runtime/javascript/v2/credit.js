// The exports of a credit model of wit/v2 in JavaScript, around the functions of model.js.

import { complete, described, explained, plain, refusing, scored, whole } from './answers.js';
import { kept, printed } from './confined.js';
import * as model from '../../model.js';

complete(model, 'credit', ['describe', 'score', 'explain', 'decile']);

export const credit = {
  describe: () => kept(() => described(model.describe())),
  score: (features) => refusing(() => model.score(plain(features)), scored),
  explain: (features) => refusing(() => model.explain(plain(features)), explained),
  decile: (score) => kept(() => whole('decile', 'answers', model.decile(score))),
};
export { printed };
