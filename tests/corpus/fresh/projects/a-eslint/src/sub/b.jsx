export const B = () => <b/>;
