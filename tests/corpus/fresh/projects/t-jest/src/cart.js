exports.total = (xs) => xs.reduce((a, x) => a + x.price * x.qty, 0);
exports.row = (x) => ({ ...x, sum: x.price * x.qty, currency: 'EUR' });
