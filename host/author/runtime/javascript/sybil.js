// The exports of a sybil model of wit/v1 in JavaScript, around the functions of model.js.

import { complete, described, judged, plain } from './answers.js';
import { kept, printed } from './confined.js';
import * as model from '../../model.js';

complete(model, 'sybil', ['describe', 'risk']);

export const sybil = {
  describe: () => kept(() => described(model.describe())),
  risk: (features) => kept(() => judged(model.risk(plain(features)))),
};
export { printed };
