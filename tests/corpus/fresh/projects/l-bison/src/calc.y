%token NUM
%%
expr: expr '+' term { $$ = $1 + $3; }
    | term
    ;
term: NUM | '(' exp ')' ;
%%
