import assert from 'node:assert';
assert.deepStrictEqual({ a: [1, 2] }, { a: [1, 3] });
