var fs = require('fs');
function load(p) {
  return JSON.parse(read(p))
}
module.exports = load;
