const x = {a: 1, a: 2};
export default function () {
  return (x;
}
