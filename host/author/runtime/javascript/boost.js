// The exports of a boost model in JavaScript, around the functions of model.js.

import { complete, described, vouched, whole } from './answers.js';
import { kept, printed } from './confined.js';
import * as model from '../../model.js';

complete(model, 'boost', ['describe', 'boost']);

export const boost = {
  describe: () => kept(() => described(model.describe())),
  boost: (score, offChain) => kept(() => whole('boost', 'answers', model.boost(score, vouched(offChain)))),
};
export { printed };
