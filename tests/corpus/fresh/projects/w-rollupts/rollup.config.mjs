import ts from '@rollup/plugin-typescript';
export default {input:'src/main.ts',output:{dir:'dist',format:'es'},plugins:[ts({noEmitOnError:true})]};
