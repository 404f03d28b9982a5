import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { describe, explain, risk } from './model.js';
import { wallets } from './wallets.js';

/** The golden wallets: a features file. */
const WALLETS = wallets(readFileSync(new URL('wallets.jsonl', import.meta.url), 'utf8'));

test('the golden wallets keep their risks', () => {
  assert.deepEqual(WALLETS.map((wallet) => risk(wallet).risk), [80, 40]);
});

test('the words have the points of the answer', () => {
  for (const wallet of WALLETS) assert.deepEqual(explain(wallet).map((factor) => factor.points), risk(wallet).points);
});

test('a wallet of which nothing could be read is neither', () => {
  const chains = WALLETS[0].chains.map((chain) => ({ ...chain, coverage: 'failed' }));
  assert.equal(risk({ ...WALLETS[0], chains }).risk, 50);
});

test('it says what it is', () => {
  assert.equal(describe().kind, 'sybil');
});
