import plugin from './tools/rules.js';
export default [{plugins:{x:plugin},rules:{'x/no-big':'error'}}];
