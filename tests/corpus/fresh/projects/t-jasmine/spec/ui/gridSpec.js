describe('grid', () => {
  beforeEach(() => { throw new Error('grid container #app not found'); });
  it('draws', () => {});
});
