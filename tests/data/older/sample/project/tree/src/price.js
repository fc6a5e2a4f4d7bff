export const price = (item) => item.price
