with Stack; with Ada.Text_IO;
procedure Main is
   S : Stack.T;
begin
   Stack.Push (S, "one");
   Ada.Text_IO.Put_Lin ("done");
end Main;
