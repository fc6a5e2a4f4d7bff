package Stack is
   type T is record
      Top : Integer := 0;
   end record;
   procedure Push (S : in out T; X : Integer);
end Stack;
