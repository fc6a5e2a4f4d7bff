const { week, parse } = require('../lib/calendar');
describe('calendar', () => {
  it('parses', () => { expect(parse('2024-01-02')).toEqual([2024, 1, 2]); });
  it('has the days of a week', () => {
    expect(week(1)).toEqual({ start: 1, days: ['mon', 'tue', 'thu'], tz: 'UTC' });
  });
  it('rejects nothing', () => { parse(null); });
});
