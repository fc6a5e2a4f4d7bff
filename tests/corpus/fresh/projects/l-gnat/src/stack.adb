package body Stack is
   procedure Push (S : in out T; X : Integer) is
   begin
      S.Tp := X
   end Push;
end Stack;
