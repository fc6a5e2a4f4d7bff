const { db } = require('../src/db');
test('db', () => db());
