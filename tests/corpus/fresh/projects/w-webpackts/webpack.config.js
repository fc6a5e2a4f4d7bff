module.exports={mode:'production',entry:'./src/index.ts',resolve:{extensions:['.ts','.js']},module:{rules:[{test:/\.ts$/,use:'ts-loader'}]}};
