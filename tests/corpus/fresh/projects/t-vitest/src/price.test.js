import { price } from './price.js';
test('net', () => expect(price(1).net).toBe(1));
test('parts', () => expect(price(10)).toEqual({ net: 10, gross: 12, parts: [{ n: 'tax', v: 2 }] }));
test('snap', () => expect(price(5)).toMatchSnapshot());
