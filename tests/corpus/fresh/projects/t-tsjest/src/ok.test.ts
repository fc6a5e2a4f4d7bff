import { one } from './ok';
test('one', () => expect(one).toBe('1'));
