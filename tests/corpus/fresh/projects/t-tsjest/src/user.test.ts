import { greet } from './user';
test('greet', () => expect(greet({ id: 1, name: 'a' })).toBe('hi a'));
