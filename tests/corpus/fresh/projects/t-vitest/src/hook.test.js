beforeEach(() => { throw new RangeError('fixture seed must be > 0'); });
test('uses seed', () => {});
afterAll(() => {});
