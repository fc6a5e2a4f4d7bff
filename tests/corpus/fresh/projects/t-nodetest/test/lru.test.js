import { describe, it, beforeEach } from 'node:test';
import assert from 'node:assert/strict';
import { Lru } from '../src/lru.js';
describe('lru', () => {
  it('keeps', () => { const l = new Lru(2); l.set('a', 1); assert.equal(l.dump().a, 1); });
  it('evicts', () => { const l = new Lru(1); l.set('a', 1); l.set('b', { deep: [1, 2, 3] }); assert.deepEqual(l.dump(), { b: { deep: [1, 2, 4] } }); });
});
