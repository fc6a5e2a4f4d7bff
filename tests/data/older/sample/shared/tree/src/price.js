export const price = (item) => missingRate(item)
