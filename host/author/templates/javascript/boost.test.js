import assert from 'node:assert/strict';
import test from 'node:test';

import { boost, describe } from './model.js';

test('the golden cases keep their scores', () => {
  const boosted = [0, 25_000, 50_000, 1e9].map((totalAssetUsd) => boost(700, { totalAssetUsd }));
  assert.deepEqual(boosted, [700, 715, 730, 730]);
});

test('a score never falls, and stays below 1000', () => {
  for (let score = 300; score <= 1000; score += 1) {
    const boosted = boost(score, { totalAssetUsd: 40_000 });
    assert.ok(boosted >= score && boosted <= 1000);
  }
});

test('it says what it is', () => {
  assert.equal(describe().kind, 'boost');
});
