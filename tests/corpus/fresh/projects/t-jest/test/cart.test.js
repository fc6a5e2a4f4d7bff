const { total, row } = require('../src/cart');
beforeAll(() => { if (!process.env.HOME) throw 1; });
test.each([[1, 2, 2], [2, 2, 5]])('%i x %i = %i', (price, qty, e) => expect(total([{ price, qty }])).toBe(e));
test('row', () => expect(row({ price: 2, qty: 3 })).toMatchObject({ sum: 6, currency: 'USD' }));
test('calls', () => { const f = jest.fn(); f('a', { x: 1 }); expect(f).toHaveBeenCalledWith('a', { x: 2 }); });
