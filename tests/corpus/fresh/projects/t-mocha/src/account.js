class Account {
  constructor() { this.events = []; this.balance = 0; }
  deposit(n) { this.balance += n; this.events.push({ type: 'deposit', amount: n, at: 0, meta: { by: 'api', tags: ['a', 'b'] } }); }
}
module.exports = Account;
