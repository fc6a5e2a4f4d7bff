const tpl = require('./template');
module.exports = (to) => tpl.render(to);
