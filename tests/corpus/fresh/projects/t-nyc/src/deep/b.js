exports.b = () => 1;
