module.exports = (s) => s.trim();
