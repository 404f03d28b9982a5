import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { decile, describe, explain, score } from './model.js';
import { wallets } from './wallets.js';

/** The golden wallets: a features file. */
const WALLETS = wallets(readFileSync(new URL('wallets.jsonl', import.meta.url), 'utf8'));

test('the golden wallets keep their scores', () => {
  assert.deepEqual(WALLETS.map((wallet) => score(wallet).score), [700, 500]);
});

test('points explain a score, and the decile is that of the score', () => {
  for (const wallet of WALLETS) {
    const answer = score(wallet);
    assert.equal(answer.points.reduce((sum, points) => sum + points, 300), answer.score);
    assert.deepEqual(explain(wallet).map((factor) => factor.points), answer.points);
    assert.equal(answer.decile, decile(answer.score));
  }
});

test('a decile never falls as the score rises', () => {
  for (let s = 301; s <= 1000; s += 1) assert.ok(decile(s) >= decile(s - 1));
  assert.deepEqual([decile(300), decile(1000)], [1, 10]);
});

test('it says what it is', () => {
  assert.equal(describe().kind, 'credit');
});
