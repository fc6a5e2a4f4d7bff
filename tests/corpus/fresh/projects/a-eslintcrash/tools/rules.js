export default {rules:{'no-big':{create(c){return{Literal(n){if(n.value.length>3)c.report({node:n,message:'big'});}};}}}};
