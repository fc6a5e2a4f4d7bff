describe('server', () => {
  before('boot', (done) => { setTimeout(() => {}, 5000).unref(); });
  it('answers', () => {});
});
describe('close', () => {
  afterEach(() => { throw new TypeError('server.close is not a function'); });
  it('ends', () => {});
  it('ends twice', () => {});
});
