import test from 'ava';
test('emits', (t) => { Promise.reject(new Error('socket hang up')); t.pass(); });
