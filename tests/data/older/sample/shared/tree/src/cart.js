import { price } from "./price.js"
export const cart = (items) => items.map(price)
export const checkout = () => []
