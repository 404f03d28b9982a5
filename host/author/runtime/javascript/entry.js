// The exports of a credit model in JavaScript, around the functions of model.js.

import { printed, stopped } from './confined.js';
import { assessed, described, plain, whole } from './answers.js';
import * as model from '../../model.js';

for (const name of ['describe', 'score', 'decile']) {
  if (typeof model[name] !== 'function') throw new Error(`model.js exports no function ${name}`);
}

function kept(work) {
  try {
    return work();
  } catch (error) {
    stopped(error);
    throw error;
  }
}

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
