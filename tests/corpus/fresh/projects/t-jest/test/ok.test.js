test('ok', () => {});
