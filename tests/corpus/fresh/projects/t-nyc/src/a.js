exports.a = (x) => {
  if (x > 1) {
    return 'big';
  }
  if (x < 0) {
    return 'neg';
  }
  return 'small';
};
