import { it } from 'node:test';
it('bad', () => {
  const x = ;
});
