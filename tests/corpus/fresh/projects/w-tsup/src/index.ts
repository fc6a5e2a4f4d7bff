export { load } from './load';
export { save } from './save';
