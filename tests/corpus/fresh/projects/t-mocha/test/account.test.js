const { expect } = require('chai');
const Account = require('../src/account');
describe('Account', () => {
  it('starts at zero', () => expect(new Account().balance).to.equal(0));
  it('records events', () => {
    const a = new Account(); a.deposit(5); a.deposit(7);
    expect(a.events).to.deep.equal([
      { type: 'deposit', amount: 5, at: 0, meta: { by: 'api', tags: ['a', 'b'] } },
      { type: 'deposit', amount: 7, at: 0, meta: { by: 'cli', tags: ['a'] } },
    ]);
  });
});
