const send = require('../lib/send');
it('sends', () => send('x'));
