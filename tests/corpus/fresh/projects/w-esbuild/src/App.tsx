import { useState } from 'react';
export const App = () => { const [a] = useState(1); return <b>{a}</i>; };
