import {Cart} from './cart';
var c = new Cart();
console.log(c.total())
