import test from 'ava';
import { pad } from '../index.js';
test('pads', (t) => t.is(pad('a', 3), '  a'));
test('pads right', (t) => t.deepEqual({ s: pad('a', 3), n: 3 }, { s: 'a  ', n: 3 }));
test.failing('known', (t) => t.pass());
