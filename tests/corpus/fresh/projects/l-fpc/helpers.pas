unit helpers;
interface
implementation
end.
