import { draw } from './draw/canvas.js';
import { missing } from './util.js';
draw(missing);
