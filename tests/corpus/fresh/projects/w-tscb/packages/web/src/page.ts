import { grow } from '../../core/src/index';
const s: string = grow({ id: 1 });
