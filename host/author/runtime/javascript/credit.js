// The exports of a credit model of wit/v1 in JavaScript, around the functions of model.js.

import { assessed, complete, described, plain, refusing, whole } from './answers.js';
import { kept, printed } from './confined.js';
import * as model from '../../model.js';

complete(model, 'credit', ['describe', 'score', 'decile']);

export const credit = {
  describe: () => kept(() => described(model.describe())),
  score: (features) => refusing(() => model.score(plain(features)), assessed),
  decile: (score) => kept(() => whole('decile', 'answers', model.decile(score))),
};
export { printed };
