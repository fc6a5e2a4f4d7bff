import t from 'tap';
import { Ring } from '../lib/ring.js';
t.test('wraps', async (t) => {
  t.same(new Ring(2).push(1).push(2).push(3).xs, [2, 3], 'keeps the last two');
});
t.test('keeps', async (t) => { t.equal(new Ring(2).n, 2); });
