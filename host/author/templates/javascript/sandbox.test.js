import assert from 'node:assert/strict';
import test from 'node:test';

import { behaviourOf, boostedScore, describe, factors, report, scenarios, score } from './model.js';

const of = (last) => `0x${last.toString(16).padStart(40, '0')}`;

test('the golden addresses keep their scores', () => {
  assert.deepEqual([1, 100, 255].map((last) => score(of(last))), [301, 400, 555]);
});

test('the factors and the report are of the score', () => {
  for (let last = 0; last < 2_000; last += 7) {
    const points = factors(of(last)).reduce((sum, factor) => sum + factor.points, 300);
    assert.deepEqual([points, report(of(last)).score], [score(of(last)), score(of(last))]);
    const boosted = boostedScore(of(last), { totalAssetUsd: 40_000 });
    assert.ok(boosted >= score(of(last)) && boosted <= 1000);
  }
});

test('each scenario has a behaviour', () => {
  for (const { address, agent } of scenarios()) assert.ok(behaviourOf({ address, agent }));
  assert.equal(behaviourOf({ address: of(1) }), null);
});

test('it says what it is', () => {
  assert.equal(describe().kind, 'sandbox');
});
