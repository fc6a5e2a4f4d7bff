const marked = require('marked');
exports.render = marked;
