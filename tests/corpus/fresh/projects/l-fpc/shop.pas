program shop;
uses cart, helpers;
begin
  WriteLn(Total(3));
end.
