export function start(root){ return {}; }
