const assert = require('assert');
assert.equal(require('../src/a').a(1), 'small');
assert.equal(require('../src/deep/b').b(), 1);
console.log('2 assertions passed');
