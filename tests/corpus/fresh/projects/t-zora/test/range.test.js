import { test } from 'zora';
import { inRange } from '../src/range.js';
test('range', (t) => {
  t.ok(inRange(1, [0, 2]), 'is inside');
  t.equal(inRange(3, [0, 2]), true, 'edge is inside');
  t.equal([{ v: 1 }, { v: 2 }], [{ v: 1 }, { v: 3 }], 'same list');
});
