import { test } from 'node:test';
test('a', () => {});
