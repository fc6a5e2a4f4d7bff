const a = (x) => x ?? 1;
a();
