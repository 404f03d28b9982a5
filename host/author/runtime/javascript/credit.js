// The exports of a credit model in JavaScript, around the functions of model.js.

import { assessed, complete, described, plain, whole } from './answers.js';
import { kept, printed } from './confined.js';
import * as model from '../../model.js';

complete(model, 'credit', ['describe', 'score', 'decile']);

function score(features) {
  const { refusal, assessment } = kept(() => assessed(model.score(plain(features))));
  if (refusal) throw refusal;
  return assessment;
}

export const credit = {
  describe: () => kept(() => described(model.describe())),
  score,
  decile: (score) => kept(() => whole('decile', 'answers', model.decile(score))),
};
export { printed };
