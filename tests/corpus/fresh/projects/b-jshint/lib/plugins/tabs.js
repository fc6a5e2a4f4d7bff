module.exports = function (el) {
  if (el = null) { return }
  for (var i = 0; i < 3; i++) {
    el.on('x', function () { return i; });
  }
