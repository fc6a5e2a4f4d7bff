import test from 'ava';
import { nothere } from '../index.js';
test('x', (t) => t.pass());
