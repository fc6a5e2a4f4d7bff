const pg = require('pg-promise');
exports.db = pg;
