import assert from 'node:assert';
import { sum } from '../src/sum.mjs';
assert.equal(sum(1, 2), 3);
console.log('ok');
