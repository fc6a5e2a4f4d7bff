unit cart;
interface
function Total(n: Integer): Integer;
implementation
function Total(n: Integer): Integer;
var s: string;
begin
  s := n * 2;
  Total := Missing(n);
end;
end.
