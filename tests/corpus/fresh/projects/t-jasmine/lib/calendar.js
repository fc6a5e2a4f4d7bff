exports.week = (d) => ({ start: d, days: ['mon', 'tue', 'wed'], tz: 'UTC' });
exports.parse = (s) => s.split('-').map(Number);
