export const load = () => "x";
