import t from 'tap';
import { Ring } from '../lib/ring.js';
t.equal(new Ring(1).xs.length, 0);
Ring.from([1]);
