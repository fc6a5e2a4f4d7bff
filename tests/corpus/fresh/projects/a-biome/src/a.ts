export function f(x: any) {
    if (x == 1) { debugger }
    return x;
}
